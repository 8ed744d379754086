"""Rules for valid configurations: an order of two numbers, a range of a sum, a forbidden combination.

`parzax.Space` takes rules, or functions of named values, as ``valid=``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

from parzax import _checks
from parzax.space.conditions import Condition, Recorded, as_conditions, check_ends, plain_values, repr_as_call
from parzax.space.frame import ConditionTests, Frame, Points

# Tolerance for the rounding of a sum, in units in the last place of its terms.
_UNITS = 4
# Which points are valid, given the frame, the points and their native values (n, d).
Holds: TypeAlias = Callable[[Frame, Points, Any], Any]


@dataclass(frozen=True, repr=False)
class Ordered:
    """Holds where parameter ``lower`` is at most parameter ``upper``; if ``strict``, where it is below.

    Both are numeric. The rule also holds where one of them is inactive.

    >>> import jax, parzax as px
    >>> domains = {"least": px.Int(1, 9), "most": px.Int(1, 9)}
    >>> space = px.Space(domains, valid=px.valid.Ordered("least", "most"))
    >>> least, most = space.sample(jax.random.key(0), 100).T
    >>> bool((least <= most).all())
    True
    """

    lower: str
    upper: str
    _: KW_ONLY
    strict: bool = False
    __repr__ = repr_as_call

    def __post_init__(self) -> None:
        object.__setattr__(self, "strict", _checks.flag("Ordered: strict", self.strict))

    @property
    def names(self) -> tuple[str, str]:
        """Names of the parameters."""
        return self.lower, self.upper

    def bind(self, space: Any) -> Holds:
        """The rule as a function of points of a space."""
        return Partial(_is_ordered, _columns(self, space), np.array(self.strict))


@dataclass(frozen=True, repr=False)
class Sum:
    """Holds where the sum of the parameters ``names`` is from ``low`` to ``high``, up to rounding.

    The parameters are numeric, and discrete if ``low`` equals ``high``. The rule also holds where one of them
    is inactive.

    >>> import parzax as px
    >>> domains = {"train": px.Float(0, 1), "test": px.Float(0, 1)}
    >>> px.Space(domains, valid=px.valid.Sum(["train", "test"], high=1)).allows([[0.5, 0.25], [0.5, 0.75]])
    array([ True, False])
    """

    names: Sequence[str]
    _: KW_ONLY
    low: float = -math.inf
    high: float = math.inf
    __repr__ = repr_as_call

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", plain_values("Sum: names", self.names))
        check_ends(self)
        if (self.low, self.high) == (-math.inf, math.inf) or self.low > self.high:
            raise ValueError(f"{self!r} needs low or high or both, and low must not exceed high.")

    def bind(self, space: Any) -> Holds:
        """The rule as a function of points of a space."""
        return Partial(_is_sum_within, _columns(self, space), np.array([self.low, self.high], np.float64))


@dataclass(frozen=True, repr=False)
class Forbidden:
    """Forbids the configurations in which all conditions ``when`` hold, such as a pair of choices.

    ``when`` is one condition or a sequence of conditions, as in a domain. A condition on an inactive
    parameter fails. For a table of forbidden pairs give `parzax.Space` a list of rules.

    >>> import parzax as px
    >>> rule = px.valid.Forbidden([px.In("loss", ["l1"]), px.Between("degree", 3)])
    >>> domains = {"loss": px.Categorical(["l1", "l2"]), "degree": px.Int(1, 5)}
    >>> px.Space(domains, valid=rule).allows([[0, 2], [0, 3], [1, 3]])
    array([ True, False,  True])
    """

    when: Condition | Sequence[Condition]
    conditions: tuple[Condition, ...] = field(init=False, compare=False)
    __repr__ = repr_as_call

    def __post_init__(self) -> None:
        conditions = as_conditions(self.when)
        if not conditions or Recorded() in conditions:
            raise ValueError(f"Forbidden: when must be conditions In or Between, got {self.when!r}.")
        object.__setattr__(self, "when", conditions)
        object.__setattr__(self, "conditions", conditions)


def as_rules(valid: Any) -> tuple[Any, ...]:
    """The argument ``valid`` of a space as a tuple of rules and functions."""
    rules = () if valid is None else tuple(valid) if isinstance(valid, (tuple, list)) else (valid,)
    wanted = "a rule such as px.valid.Ordered('a', 'b'), a function of named values, or a list of these"
    for rule in rules:
        _checks.instance("valid", rule, Ordered | Sum | Forbidden | Callable, wanted)
    return rules


def bind_rules(rules: Sequence[Any], space: Any, dtype: Any) -> tuple[Holds, ...]:
    """Rules as functions of points. Their numbers are leaves, so that spaces share compiled programs."""
    forbidden = [rule.conditions for rule in rules if isinstance(rule, Forbidden)]
    others = [rule for rule in rules if not isinstance(rule, Forbidden)]
    bound = [_bind_function(rule, space) if callable(rule) else rule.bind(space) for rule in others]
    if forbidden:
        bound.append(Partial(_is_not_forbidden, ConditionTests.of(space, forbidden, dtype)))
    return tuple(bound)


@dataclass(frozen=True)
class _Function:
    """Which rows a function of the named values of one row allows; equal by the identity of the function."""

    function: Callable[[Any], Any]
    space: Any

    def __call__(self, _frame: Frame, _at: Points, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return jax.vmap(self.of_row)(x)
        # Rows on the host are concrete, also while JAX traces the caller.
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return np.asarray(jax.vmap(self.of_row)(jnp.asarray(x)))

    def of_row(self, x: Float[Array, " d"]) -> Any:
        """Whether one row is allowed."""
        return jnp.asarray(self.function(self.space.unflatten(x)))


def _bind_function(function: Callable[[Any], Any], space: Any) -> Holds:
    """A function as a rule; TypeError unless JAX can trace it, and it returns one bool."""
    rule, row = _Function(function, space), jax.ShapeDtypeStruct((len(space),), jnp.result_type(float))
    try:
        answer = jax.eval_shape(rule.of_row, row)
    except Exception as error:
        names, reason = ", ".join(space.names), str(error).partition("\n")[0].rstrip(".")
        raise TypeError(
            f"valid: the function raised {type(error).__name__}: {reason}. It gets the values of {names} "
            "by name, traced by JAX: write & for and, | for or, ~ for not, jnp.where for if."
        ) from error
    if answer.shape != () or answer.dtype != bool:
        given = f"{answer.dtype.name} of shape {answer.shape}"
        raise TypeError(f"valid: the function must return a bool, got {given}.")
    return Partial(rule)


def _columns(rule: Ordered | Sum, space: Any) -> np.ndarray:
    return np.array([space.index(name) for name in rule.names], np.int32)


# Comparisons with NaN, which stands for an inactive parameter, are false, so that the rule holds.
def _is_ordered(columns: Any, strict: Any, _frame: Frame, _at: Points, x: Any) -> Any:
    lower, upper = x[:, columns].T
    return ~((lower > upper) | (strict & (lower == upper)))


def _is_sum_within(columns: Any, bounds: Any, _frame: Frame, _at: Points, x: Any) -> Any:
    xp, terms = x.__array_namespace__(), x[:, columns]
    total, slack = terms.sum(axis=1), _UNITS * float(np.finfo(x.dtype).eps) * xp.abs(terms).sum(axis=1)
    return ~((total < bounds[0] - slack) | (total > bounds[1] + slack))


def _is_not_forbidden(tests: ConditionTests, frame: Frame, at: Points, x: Any) -> Any:
    return ~frame.meets(tests, at, x).any(axis=-1)
