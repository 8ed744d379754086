"""Ask and tell with ConfigSpace's configurations."""

import copy
import math
import warnings
from contextlib import suppress
from typing import Any

import jax
import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace
from jaxtyping import PRNGKeyArray

from parzax import _checks
from parzax._words import plural
from parzax.adapters.configspace.translation import native_rows, space, to_values
from parzax.lens.logs.observations import find_best
from parzax.lens.run.session import Row, Session
from parzax.samplers import Sampler, tpe

# Largest number of draws to replace a suggestion that breaks a forbidden clause.
_MOST_DRAWS = 30


class Optimizer:
    """Suggests configurations of a ConfigSpace configuration space, and learns from their values.

    All configurations are legal: conditional parameters are inactive where their conditions fail, and
    forbidden clauses are rules of the space. A clause without a rule is tried 30 times, and then drawn by
    ConfigSpace. Suggestions that are
    not told yet count as bad, so that suggestions made together differ. The same key and the same calls give
    the same configurations. It compiles a program for up to 1024 configurations, then for 4096, then at each
    doubling.

    Args:
        cs: the configuration space, see `parzax.adapters.configspace.space`.
        sampler: a sampler on the space ``px.adapters.configspace.space(cs)``, for example
            ``px.tpe(space, n_constraints=1)``. `parzax.tpe` by default.
        key: random key; ``jax.random.key(0)`` by default.

    Raises:
        TypeError, ValueError: for wrong arguments, and as `parzax.adapters.configspace.space`.

    >>> from ConfigSpace import ConfigurationSpace
    >>> import jax, parzax as px
    >>> cs = ConfigurationSpace({"x": (-1.0, 1.0), "kind": ["a", "b"]})
    >>> optimizer = px.adapters.configspace.Optimizer(cs, key=jax.random.key(1))
    >>> for config in optimizer.ask(2):
    ...     optimizer.tell(config, config["x"] ** 2)
    >>> len(optimizer.best())
    1
    """

    def __init__(
        self, cs: ConfigurationSpace, sampler: Sampler | None = None, *, key: PRNGKeyArray | None = None
    ) -> None:
        with warnings.catch_warnings():
            # Suggestions obey forbidden clauses without a rule, unlike the space.
            warnings.filterwarnings("ignore", "A forbidden clause")
            self._native = space(cs)
        sampler = tpe(self._native) if sampler is None else sampler
        _checks.instance("sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)")
        if sampler.space != self._native:
            raise ValueError("sampler must have the space px.adapters.configspace.space(cs), got another.")
        self._cs, self._key = cs, jax.random.key(0) if key is None else key
        _checks.check_key(self._key)
        self._session = Session(sampler)
        self._pending: list[Configuration] = []
        self._told: list[tuple[Configuration, tuple[float, ...], tuple[float, ...]]] = []
        self._n_asked = 0

    def ask(self, n: int = 1) -> list[Configuration]:
        """Suggest ``n`` configurations, which are pending until they are told."""
        before = len(self._pending)
        for _ in range(_checks.whole_number("n", n, 1)):
            self._pending.append(self._suggest())
            self._n_asked += 1
        return self._pending[before:]

    def tell(self, configuration: Configuration, objectives: Any, constraints: Any = None) -> None:
        """Learn the values of a configuration, whether it was suggested or not.

        Args:
            configuration: a configuration of the configuration space.
            objectives: a number, or m numbers; minimised. NaN marks a failure, which counts as bad.
            constraints: a number, or c numbers; satisfied where <= 0.

        Raises:
            TypeError, ValueError: for a configuration of another space, and for a wrong number of values.
        """
        losses = _numbers("objectives", objectives, self._session.sampler.n_objectives)
        excess = _numbers("constraints", constraints, self._session.sampler.n_constraints)
        row = self._row(configuration, None if any(map(math.isnan, losses)) else losses, excess)
        if configuration in self._pending:
            self._pending.remove(configuration)
        self._session.tell([row])
        self._told.append((configuration, losses, excess))

    def best(self) -> list[Configuration]:
        """The best feasible configurations so far, in the order in which they were told.

        With one objective, it is the configuration with the smallest loss. With several objectives, it is the
        Pareto front without repeats. A configuration that was told several times counts as in
        `parzax.samplers.Sampler.best`. The list is empty as long as nothing is feasible.
        """
        if not self._told:
            return []
        configurations, *told = zip(*self._told, strict=True)
        x = native_rows(self._cs, self._native, configurations)
        return [configurations[i] for i in find_best(x, *map(np.array, told))]

    def _suggest(self) -> Configuration:
        pending = [self._row(config, None) for config in self._pending]
        for attempt in range(_MOST_DRAWS):
            x = self._session.ask(self._n_asked, attempt, key=self._key, pending=pending)
            values = to_values(self._cs, self._native, x)
            # ConfigSpace raises for forbidden values, and for values that rounding moved out of a domain.
            with suppress(ValueError):
                return Configuration(self._cs, values=values)
        at_random = copy.deepcopy(self._cs)
        at_random.seed(int(jax.random.bits(jax.random.fold_in(self._key, self._n_asked)) >> 1))
        return Configuration(self._cs, values=dict(at_random.sample_configuration()))

    def _row(
        self, config: Configuration, losses: tuple[float, ...] | None, constraints: tuple[float, ...] = ()
    ) -> Row:
        x = native_rows(self._cs, self._native, [config])
        if not self._native.frame().nearest(x).valid.all():
            raise ValueError(f"configuration lacks an active parameter: {config!r}.")
        return Row(x[0], losses, constraints)


def _numbers(name: str, values: Any, n: int) -> tuple[float, ...]:
    numbers = [] if values is None else np.atleast_1d(np.asarray(values, np.float64)).tolist()
    if len(numbers) != n:
        raise ValueError(f"{name} must hold {plural(n, 'number')}, got {values!r}.")
    return tuple(numbers)
