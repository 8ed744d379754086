"""Ask and tell with ConfigSpace's configurations."""

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace
from ConfigSpace.exceptions import (
    ActiveHyperparameterNotSetError,
    ForbiddenValueError,
    IllegalValueError,
    InactiveHyperparameterSetError,
)

from parzax import _checks
from parzax.adapters._codec import Codec
from parzax.adapters._rows import Row, Rows
from parzax.adapters.configspace_rows import native_rows, to_values
from parzax.adapters.configspace_space import space
from parzax.samplers import Sampler, tpe

# Suggestions that break a forbidden clause are drawn again, so often.
_MOST_DRAWS = 30
_ILLEGAL = (
    ActiveHyperparameterNotSetError,
    ForbiddenValueError,
    IllegalValueError,
    InactiveHyperparameterSetError,
)


class Optimizer:
    """Suggests configurations of a ConfigSpace configuration space, and learns from what they gave.

    All configurations are legal: conditional parameters are inactive where their conditions fail, and a
    suggestion that breaks a forbidden clause is drawn again (at random after 30 draws). Configurations that
    were asked for and not told yet count as bad, so that suggestions made together differ. The same seed and
    the same calls give the same configurations. It compiles once for 256 configurations, 1024, 4096, then at
    each doubling.

    Args:
        cs: the configuration space, see `parzax.adapters.configspace.space`.
        sampler: settings, for the space that `parzax.adapters.configspace.space` makes of ``cs``; for
            example ``px.c_tpe(space, n_constraints=1)``. `parzax.tpe` by default.
        seed: a whole number in [0, 2^32).

    Raises:
        TypeError, ValueError: arguments that are none; what `parzax.adapters.configspace.space` raises.

    >>> from ConfigSpace import ConfigurationSpace
    >>> import parzax as px
    >>> cs = ConfigurationSpace({"x": (-1.0, 1.0), "kind": ["a", "b"]})
    >>> optimizer = px.adapters.configspace.Optimizer(cs, seed=1)
    >>> for config in optimizer.ask(2):
    ...     optimizer.tell(config, config["x"] ** 2)
    >>> optimizer.n_told
    2
    """

    def __init__(self, cs: ConfigurationSpace, sampler: Sampler | None = None, seed: int = 0) -> None:
        with warnings.catch_warnings():
            # Forbidden clauses, which are heeded here.
            warnings.simplefilter("ignore", UserWarning)
            self._native = space(cs)
        if sampler is None:
            sampler = tpe(self._native)
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a parzax sampler such as px.tpe(space), got {sampler!r}.")
        if sampler.space != self._native:
            raise ValueError("sampler must have the space px.adapters.configspace.space(cs), got another.")
        self._cs, self._seed = cs, _checks.whole_number("seed", seed, 0, 2**32 - 1)
        self._codec = Codec(self._native)
        self._rows = Rows(replace(sampler, space=self._codec.space))
        self._pending: list[Configuration] = []
        self._n_asked = self._n_told = 0

    @property
    def n_told(self) -> int:
        """Number of configurations told."""
        return self._n_told

    def ask(self, n: int = 1) -> list[Configuration]:
        """Suggest ``n`` configurations, which are pending until they are told."""
        out = []
        for _ in range(_checks.whole_number("n", n, 1)):
            out.append(self._suggest())
            self._pending.append(out[-1])
            self._n_asked += 1
        return out

    def tell(self, configuration: Configuration, objectives: Any, constraints: Any = None) -> None:
        """Learn what a configuration gave, whether it was asked for or not.

        Args:
            configuration: of the configuration space.
            objectives: a number, or m of them; minimised. NaN marks a failure, which counts as bad.
            constraints: a number, or c of them; satisfied where <= 0.

        Raises:
            TypeError, ValueError: not a configuration of this space; another number of values.
        """
        losses = _values("objectives", objectives, self._rows.sampler.n_objectives)
        given = _values("constraints", constraints, self._rows.sampler.n_constraints)
        row = self._row(configuration, None if any(map(math.isnan, losses)) else losses, given)
        if configuration in self._pending:
            self._pending.remove(configuration)
        self._rows.append(row)
        self._n_told += 1

    def _suggest(self) -> Configuration:
        unknown = (math.nan,) * self._rows.sampler.n_constraints
        pending = [self._row(config, None, unknown) for config in self._pending]
        for attempt in range(_MOST_DRAWS):
            row = self._codec.decode(self._rows.ask(pending, self._seed, self._n_asked, attempt))
            try:
                return Configuration(self._cs, values=to_values(self._cs, self._native, row))
            except _ILLEGAL:
                continue
        at_random = copy.deepcopy(self._cs)
        at_random.seed(int(np.random.default_rng([self._seed, self._n_asked]).integers(2**31)))
        return Configuration(self._cs, values=dict(at_random.sample_configuration()))

    def _row(
        self, config: Configuration, losses: tuple[float, ...] | None, constraints: tuple[float, ...]
    ) -> Row:
        x = self._codec.encode(native_rows(self._cs, self._native, [config])[0])
        if x is None:
            raise ValueError(f"configuration lacks an active parameter: {config!r}.")
        return Row(x, losses, constraints)


def _values(name: str, values: Any, n: int) -> tuple[float, ...]:
    given: Sequence[Any] = () if values is None else np.atleast_1d(np.asarray(values, np.float64)).tolist()
    if len(given) != n:
        raise ValueError(f"{name} must hold {n} numbers, got {values!r}.")
    return tuple(given)
