"""Answers from a surrogate of the log: importances of the whole space, and effects on the objective."""

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax._words import plural
from parzax.importance import Importance
from parzax.lens.logs import Observations
from parzax.lens.results.replicates import Replicates
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.targets import Ranking, usable_rows
from parzax.lens.results.texts import NAME, label_text, number, percent, regime_text, shorten
from parzax.space import Categorical, Float, In, Int, Recorded, Space, Varying
from parzax.status import Status
from parzax.surrogate import GaussianProcess, effects, region
from parzax.surrogate.process import map_draws

# Rows that a surrogate has by default: the time to fit it grows with their cube.
MOST_ROWS = 500
# A surrogate answers by default if it predicts this part of the variance of the rows that are left out.
LEAST_QUALITY = 0.2
# Draws from the posterior, and random configurations at which the importances of each are measured.
_DRAWS, _POINTS = 48, 2048
# A draw with at most this importance says that a parameter does nothing.
_NEGLIGIBLE = 0.01
# Share of the space around which to search next; number of values along each axis of effects; share of the
# draws whose best value is at a bound, from which on the search should go beyond it.
_BEST, N_VALUES, _AT_BOUND = 0.002, 16, 0.8
_ANSWERED = ", by a surrogate of the rows (surrogate=None, or --surrogate no, reads the rows alone)"


class Effect(NamedTuple):
    """The mean objective along one domain of one parameter, from draws of a posterior.

    Attributes:
        parameter, regime: name of the parameter, and number of its domain.
        values: (g,) numbers or choices.
        mean, low, high: (g,) mean objective at each value, with the other parameters as in the space, and the
            ends of its interval.
        worth: what choosing the value well is worth, and the ends of its interval: by how much the mean
            objective is better at the best value than at a random one. Losses beyond the worst of the
            log count as the worst. See `parzax.surrogate.Effects.worth`.
        target_worth: the same with the other parameters as in the target set.
    """

    parameter: str
    regime: int
    values: tuple[Any, ...]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    worth: tuple[float, float, float]
    target_worth: tuple[float, float, float]
    objective: str

    def __str__(self) -> str:
        """ "choosing lr well is worth about 1.8 of val_loss"."""
        return f"choosing {shorten(self.parameter, NAME)} well is {self.worth_text}"

    @property
    def worth_text(self) -> str:
        """ "worth about 1.8 of val_loss"."""
        return f"worth about {self.worth[0]:.2g} of {self.objective}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SurrogateResult(ImportanceResult):
    """Importances of the whole space: means over draws from the posterior of a surrogate of the log.

    All arrays of ``estimates`` are means over the draws, each measured at random configurations. Intervals
    are quantiles of the draws. A p-value is (1 + #{importance <= 0.01}) / (n_draws + 1) over the draws; as
    the probability that a parameter does nothing, it is not adjusted for the number of parameters.

    Attributes:
        posterior: `parzax.surrogate.Posterior` of the losses.
        key: random key of further draws.
        maximised: whether large values of the objective are good.
    """

    posterior: Any
    key: Any
    maximised: bool = False

    replicates_are: ClassVar[str] = "draws from the posterior"
    # A search crowds where it expects the best rows: more of its rows hardly narrow the intervals.
    further_rows: ClassVar[str] = "more rows, if drawn at random,"

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, d) the p-values, which need no adjustment."""
        return self.p_value

    @cached_property
    def _curves(self) -> Any:
        """`parzax.surrogate.Effects`; the target set is that of the level shown."""
        level = float(self.levels[self.usual_level])
        return effects(self.key, self.posterior, level=level, n_values=N_VALUES)

    def _values(self, slot: int) -> tuple[Any, ...]:
        """Numbers or choices along a slot of the space."""
        values = self._curves.values[slot, self._curves.shares[slot] > 0]
        return tuple(map(self.space.slots[slot].domain.interpret, values.tolist()))

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """The mean objective along each domain of each parameter, see `Effect`; the most worth first.

        The target set is that of the level shown.
        """
        curves, sign = self._curves, -1 if self.maximised else 1
        listed = []
        for s, (j, regime, _) in enumerate(self.space.slots):
            values = self._values(s)
            numbers = map(_mean_and_ends, (curves.worth[:, s], curves.target_worth[:, s]))
            worth, target_worth = (tuple(x.tolist()) for x in numbers)
            mean, low, high = _mean_and_ends(sign * curves.losses[:, s, : len(values)])
            about = self.names[j], regime, values, mean, low, high
            listed.append(Effect(*about, worth, target_worth, self.objective))
        return tuple(sorted(listed, key=lambda effect: -np.nan_to_num(effect.worth[0])))

    @cached_property
    def _best(self) -> np.ndarray:
        """(s,) number of the best value of each slot, with the others as in the target set."""
        means = self._curves.target_losses.mean(axis=0)
        return np.where(self._curves.shares > 0, means, np.inf).argmin(axis=1)

    def next_space(self, probability: float = 0.95, *, fix: bool = False) -> Space:
        """The space around the best configurations, to search next: `parzax.tpe` can start on it.

        The domains of `parzax.surrogate.region`, of the best 0.2 % of the space under each draw.

        Args:
            probability: share of these configurations that the space holds.
            fix: whether parameters without effect keep a single value, the best one. Without effect is a
                parameter whose part of what choosing all parameters is worth, with the others as in the
                target set, is below 5 % in 95 % of the draws.
        """
        box = region(self.key, self.posterior, probability, level=_BEST)
        if fix:
            idle, slots = self._curves.negligible(), np.arange(len(self._best))
            best = self._curves.values[slots, self._best]
            low, high = (np.where(idle & ~np.isnan(end), best, end) for end in (box.low, box.high))
            chosen = box.choices.any(axis=1)[:, None] & (np.arange(box.choices.shape[1]) == best[:, None])
            choices = np.where(idle[:, None], chosen, box.choices)
            box = replace(box, low=low, high=high, choices=choices)
        return box.narrowed()

    def next_steps(self) -> list[str]:
        """Sentences on what to search next: narrower ranges, parameters to fix, and wider ranges.

        Wider is advised where the best value, with the others as in the target set, is at a bound in 80 % of
        the draws.
        """
        narrowed, short = self.next_space(), [shorten(name, NAME) for name in self.names]
        changed = [
            f"{label} {' or '.join(map(regime_text, narrowed[name]))}" if name in narrowed else f"no {label}"
            for label, name in zip(short, self.names, strict=True)
            if name not in narrowed or narrowed[name] != self.space[name]
        ]
        rest = "; the others as before" if len(changed) < len(short) else ""
        steps = [f"search next: {'; '.join(changed)}{rest} (result.next_space())"] * bool(changed)
        fixed, wider, idle = [], [], self._curves.negligible()
        for s, (j, _, domain) in enumerate(self.space.slots):
            values, losses = self._values(s), self._curves.target_losses[:, s]
            at = losses[:, : len(values)].argmin(axis=1)
            upper, lower = ((at == end).mean() >= _AT_BOUND for end in (len(values) - 1, 0))
            if idle[s]:
                fixed.append(f"{short[j]} at {label_text(values[self._best[s]])}")
            elif isinstance(domain, Float | Int) and not domain.periodic and (upper or lower):
                wider += _wider_text(short[j], domain, upper)
        steps += [f"could be fixed, as they hardly matter: {'; '.join(fixed)} (fix=True)"] * bool(fixed)
        return steps + wider

    def best_rows(self, level: int) -> str:
        """The target in words: "the best 10 % of the space (smallest loss)"."""
        of = "the space" if self.region == 1 else f"the best {percent(self.region)} of the space"
        return f"the best {percent(self.levels[level])} of {of} ({self.goal})"

    def cells(self, level: int) -> dict[str, list[str]]:
        """Importance, interval, p and remarks of each parameter at a level."""
        return {name: texts for name, texts in super().cells(level).items() if name != "rows"}

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        importance, compared, *_ = super().details()
        draws = f"{self.n_resamples} draws from the posterior of a Gaussian process"
        return [
            importance,
            compared,
            f"surrogate: means over {draws}, each at {plural(int(self.n_region), 'random configuration')}",
            f"interval: {percent(self.coverage)} of the draws; it holds 0 where p is above 0.05",
            f"p: part of the draws in which the importance is at most {_NEGLIGIBLE:g}",
        ]

    def notes(self, *, verbose: bool = False) -> list[str]:
        """Lines below the table; ``verbose`` adds what choosing well is worth, and the next space."""
        lines = super().notes(verbose=verbose)
        if verbose:
            lines += [f"worth: {effect}" for effect in self.effects] + self.next_steps()
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; see `ImportanceResult.to_dict`."""
        surrogate = {"n_draws": self.n_resamples, "quality": float(self.posterior.quality)}
        return super().to_dict() | {"surrogate": surrogate}

    def _caveats(self) -> list[str]:
        quality = percent(round(max(float(self.posterior.quality), 0), 2))
        return [f"the surrogate explains {quality} of the variance of rows that it is not fitted to"]

    def _recentred(self, estimate: np.ndarray, sampled: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return sampled  # the estimate is their mean


def _wider_text(name: str, domain: Float | Int, upper: bool) -> list[str]:
    """Advice to search a quarter of the range beyond a bound, but not beyond 0; none if it is 0."""
    bound, other = (domain.high, domain.low) if upper else (domain.low, domain.high)
    end = bound * (bound / other) ** 0.25 if domain.log else bound + (bound - other) / 4
    end = end if end * bound > 0 else bound / 2
    end = math.ceil(end) if isinstance(domain, Int) else float(f"{end:.2g}")
    side, far = ("upper", "up") if upper else ("lower", "down")
    place = f"the best {name} is at its {side} bound, {number(bound)}"
    return [f"{place}: search {far} to {number(end)}, if you can"] * (end != bound)


def _mean_and_ends(draws: np.ndarray) -> np.ndarray:
    """(3, ...) mean of (b, ...) draws, and the ends of its interval."""
    coverage = SurrogateResult.coverage
    ends = np.quantile(draws, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0)
    return np.concatenate([draws.mean(axis=0)[None], ends])


def fit_surrogate(
    surrogate: Any, obs: Observations, losses: np.ndarray, objective: Ranking, rows: Any, method: Method
) -> tuple[Any, str]:
    """The posterior of the losses (s, n) that rank a log, or None if the rows alone answer; and a remark.

    Args:
        surrogate: as in `parzax.cond_ped_anova`, not None; "auto" only for a search that learns.
        obs, losses: the log; rows that do not count have weight 0.
        objective, rows, method: as in `parzax.cond_ped_anova`.

    Raises:
        TypeError: for another ``surrogate``.
        ValueError: if a surrogate was asked for and cannot answer.
    """
    automatic = isinstance(surrogate, str) and surrogate == "auto"
    if problem := _problem(obs, losses, objective, rows, method):
        if automatic:
            return None, ""
        raise ValueError(f"surrogate: {problem}; or read the rows alone, surrogate=None.")
    wanted = '"auto", None or a parzax.surrogate.GaussianProcess'
    process: Any = GaussianProcess(max_rows=MOST_ROWS) if automatic else surrogate
    _checks.instance("surrogate", process, GaussianProcess, wanted)
    used = usable_rows(obs)
    posterior = process.fit(declare_conditions(obs), obs.values[used], losses[0][used])
    if automatic and not posterior.quality >= LEAST_QUALITY:
        return None, "; a surrogate predicts too little of the losses to help"
    return posterior, _ANSWERED


def _problem(obs: Observations, losses: np.ndarray, objective: Ranking, rows: Any, method: Method) -> str:
    """Why a surrogate cannot answer, and what to do instead; "" if it can."""
    if obs.values.ndim > 2:
        return "it answers for one log, not for several seeds; give one of them"
    if isinstance(objective, str) and objective == "pareto" and obs.n_objectives > 1:
        return "it has no losses to fit in a Pareto order; give an objective or weights"
    if "feasible" in rows:
        return "it cannot tell which configurations are feasible; give rows='all'"
    if obs.groups is not None:
        return "its rows are independent, and those of the log have groups; give one row of each"
    if declare_conditions(obs) is None:
        return "only the log tells where some domains apply; give a space with their conditions"
    usable = usable_rows(obs)
    if obs.weight is not None and len(np.unique(obs.weight[usable])) > 1:
        return "it has no weights of rows; repeat the rows instead"
    if method.grid.of_reference:
        return "Optuna's numbers are those of the rows; give another grid"
    if len(np.unique(losses[0][usable & np.isfinite(losses[0])])) < 2:
        return "it needs two different losses"
    return ""


def declare_conditions(obs: Observations) -> Space | None:
    """The space of a log with conditions that say where parameters are active; None if none say so.

    A parameter that the log has in some rows (`parzax.Recorded`) is active where a categorical parameter has
    certain choices, if it is so in all rows that count.
    """
    used, left = usable_rows(obs), {}
    declared: dict[str, Any] = {}
    for name, domains in zip(obs.space, obs.space.domains, strict=True):
        moving = any(isinstance(domain, Varying) for domain in domains)
        recorded = any(isinstance(one, Recorded) for domain in domains for one in domain.conditions)
        (left if moving or recorded else declared)[name] = domains
    columns = dict(zip(obs.space.names, obs.values[used].T, strict=True))
    while left:
        for name, (domain, *others) in left.items():
            active = ~np.isnan(columns[name])
            when = () if active.all() else _explain(active, declared, columns)
            if when is not None and not others and not isinstance(domain, Varying):
                declared[name] = [replace(domain, when=when)]
        if not (solved := left.keys() & declared.keys()):
            return None
        left = {name: domains for name, domains in left.items() if name not in solved}
    return Space({name: declared[name] for name in obs.space.names}, obs.space.valid)


def _explain(active: np.ndarray, declared: dict[str, Any], columns: dict[str, np.ndarray]) -> Any:
    """The condition on a categorical parameter that holds in the ``active`` rows alone, if there is one."""
    for parent, (domain, *others) in declared.items():
        if isinstance(domain, Categorical) and not others:
            codes = np.unique(columns[parent][active])
            if len(codes) and (np.isin(columns[parent], codes) == active).all():
                return In(parent, [domain.interpret(code) for code in codes])
    return None


def draw_logs(key: Any, posterior: Any) -> Observations:
    """Random configurations with their losses, one log for each draw from a posterior.

    They are read as other logs are: the program for that compiles faster than the one of
    `parzax.surrogate.importances`, which is the same as a pure function.
    """
    with jax.enable_x64(True):
        x, losses = _draw_logs(key, posterior, n_draws=_DRAWS, n_points=_POINTS)
    return Observations.from_arrays(posterior.space, np.asarray(x), np.asarray(losses))


@partial(compiled, size="middling")
def _draw_logs(key: PRNGKeyArray, posterior: Any, n_draws: int, n_points: int) -> tuple[Array, Array]:
    def draw_log(key: PRNGKeyArray, draw: Any) -> tuple[Array, Array]:
        x = posterior.space.sample(key, n_points)
        return x, jax.vmap(draw)(x)

    return map_draws(draw_log, posterior, key, n_draws)


def average_draws(obs: Observations, estimates: Importance, posterior: Any, **about: Any) -> SurrogateResult:
    """The answer for a log from the importances of logs of `draw_logs`, and further fields of the result."""
    space, n_rows, n_fitted = posterior.space, int(usable_rows(obs).sum()), int(posterior.used.sum())
    facts = [f"the surrogate is fitted to {n_fitted} of {n_rows} rows"] * (n_fitted < n_rows)
    changed = (name for name in space if space[name] != obs.space[name])
    facts += [f"{name}: taken as {regime_text(space[name][0])}, which holds in all rows" for name in changed]
    # Statuses are those of most draws; p-values say what is above chance.
    bits = [int(bit) * ((estimates.status & int(bit)) != 0).mean(axis=0).round() for bit in Status if bit]
    status = np.sum(bits, axis=0).astype(np.int32) & ~int(Status.NOT_ABOVE_CHANCE)
    if posterior.quality < LEAST_QUALITY:
        status |= int(Status.POOR_SURROGATE)
    p_value = (1 + (estimates.importance <= _NEGLIGIBLE).sum(axis=0)) / (_DRAWS + 1)
    replicates = Replicates(estimates.variance, p_value, np.ones(()), np.array(n_fitted), _DRAWS)
    means = replace(jax.tree.map(lambda a: a.mean(axis=0), estimates), status=status)
    about |= {"report": obs.report, "facts": tuple(facts)}
    return SurrogateResult(estimates=means, replicates=replicates, posterior=posterior, **about)
