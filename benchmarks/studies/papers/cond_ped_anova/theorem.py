"""Theorem 4.2, Theorem F.1, its premise and Lemma F.2 on the exact cell masses of the problems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.papers.cond_ped_anova.curves import LEVELS
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING, NESTED, OVERLAP, THREE_WAY
from benchmarks.studies.papers.rows import OURS_ALONE, Range, Row, judged
from benchmarks.studies.papers.runs import Arrays
from parzax.importance.variance import inter_regime_variance

CELLS, EXACT = 60, Range(0, 1e-12)
# Lowest and highest x and y where c < 0.5, and where not; None where a parameter is inactive.
DOMAINS = {
    DISJOINT: (((-5, -2), None), (None, (2, 5))),
    OVERLAP: (((-5, 2), None), (None, (-2, 5))),
    MOVING: (((-7, -2), (-5, -2)), ((2, 7), (2, 5))),
}
# Branches of the appendix's problems, from the lowest losses to the highest: their masses.
BRANCHES = {NESTED: (0.375, 0.375, 0.25), THREE_WAY: (1 / 3, 1 / 3, 1 / 3)}
# By branch, the regime of a parameter, and the part of that regime's domain; `OWN` where the parameter is
# the loss, on cells of its own.
OWN = -1
PLACES = {
    NESTED: {
        "c0": ((0, 0), (0, 0), (0, 1)), "c1": ((0, 0), (0, 1), (1, 0)), "x": ((0, OWN), (1, 0), (1, 0)),
        "y": ((1, 0), (0, OWN), (1, 0)), "z": ((1, 0), (1, 0), (0, OWN)),
    },
    THREE_WAY: {
        "c": ((0, 0), (0, 1), (0, 2)), "x": ((0, OWN), (1, OWN), (2, 0)), "y": ((1, 0), (1, 0), (0, OWN)),
    },
}  # fmt: skip
# Gates, and what is conditioned by them.
PAIRS = {
    NESTED: (("c0", "c1"), ("c0", "x"), ("c0", "y"), ("c0", "z"), ("c1", "x"), ("c1", "y")),
    THREE_WAY: (("c", "x"), ("c", "y")),
}


@dataclass(frozen=True)
class Gap:
    """What a gate c and a conditioned parameter d lack of Theorem F.1, at one level.

    Attributes:
        regime: the largest variance of "d is in regime i" given c: above 0 where Eq. 36 fails.
        effect: the largest |E[b | c] - E[b | regime of d]|: above 0 where Eq. 37 fails.
        excess: variance of c less the standard variance of d: above 0 where v(c) <= v(d) fails.
        gate, inter: variance of c, and the inter-regime term of d, which Eq. 45 says are equal.
    """

    regime: float
    effect: float
    excess: float
    gate: float
    inter: float


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The largest of the `residuals` over the levels; then the premise of Theorem F.1 on the appendix's."""
    del found
    texts = {
        "Theorem 4.2": "E_I[Var(P(target | I, Z) | I)], summed over the cells, is the closed form",
        "Theorem F.1": "where c acts through the regime of d alone, the standard variance of d is its "
        "within-regime variance and that of c",
        "Lemma F.2": "the standard variance is the within-regime variance and the inter-regime term",
    }
    for problem in (*DOMAINS, *BRANCHES):
        with jax.enable_x64(True):
            each = [residuals(problem, level) if problem in DOMAINS else parted(problem, level)
                    for level in LEVELS]  # fmt: skip
        for i, (where, printed) in enumerate(texts.items()):
            if problem in BRANCHES and where == "Theorem F.1":
                yield _premise(problem)
                continue
            largest = float(np.abs([own[i] for own in each]).max())
            yield Row(
                f"{where.lower().replace(' ', '-')}-{problem}", f"{where}, {problem}",
                f"{printed}: largest difference [{EXACT}]",
                f"{largest:.1e}, exact masses of {CELLS} cells, 99 levels", judged(largest, 0, EXACT),
                "in the whole space, gamma = 1",
            )  # fmt: skip


def _premise(problem: str) -> Row:
    """Whether Eq. 36 and 37 hold for every gate, and what follows where they do not."""
    with jax.enable_x64(True):
        gaps = {(c, d): [gap(problem, c, d, level) for level in LEVELS] for c, d in PAIRS[problem]}
    lacking = {
        equation: [
            f"{c} and {d}" for (c, d), own in gaps.items() if max(getattr(x, name) for x in own) > EXACT.high
        ]
        for equation, name in (("Eq. 36", "regime"), ("Eq. 37", "effect"))
    }
    largest = max(max(x.regime, x.effect) for own in gaps.values() for x in own)
    (c, d), own = max(gaps.items(), key=lambda item: max(x.excess for x in item[1]))
    at = int(np.argmax([x.excess for x in own]))
    worst = own[at]
    return Row(
        f"premise-f.1-{problem}", OURS_ALONE,
        f"{problem}: the assumptions of Theorem F.1 hold too, for every gate: largest violation [{EXACT}]",
        f"{largest:.2g}; v(c) - v(d) up to {worst.excess:.3g} ({c} and {d}, at {LEVELS[at]:g}), "
        f"exact masses of {CELLS} cells, 99 levels",
        judged(largest, 0, EXACT),
        "Appendix F.1 says so of Eq. 12 and 15, where they hold",
        "; ".join(f"{equation} fails for {', '.join(own)}" for equation, own in lacking.items() if own)
        + f"; at {LEVELS[at]:g} the variance of {c} is {worst.gate:.3f} and the inter-regime term of {d} "
        f"{worst.inter:.3f}" + (", and v(c) <= v(d) does not hold" if worst.excess > 0 else ""),
    )  # fmt: skip


def parted(problem: str, level: float) -> tuple[list[float], list[float], list[float]]:
    """Of each parameter of a problem of `BRANCHES`, what `residuals` gives; nothing for Theorem F.1."""
    closed, lemma = [], []
    for name in PLACES[problem]:
        within, inter, standard = _variances_of(problem, name, level)
        closed.append(_direct(*_cells(problem, name, level)) - within)
        lemma.append(standard - within - inter)
    return closed, [], lemma


def gap(problem: str, gate: str, conditioned: str, level: float) -> Gap:
    """Of a gate and a parameter, at a level."""
    mass, target = np.array(BRANCHES[problem]), _filled(problem, level).sum(axis=1)
    parts, regimes = PLACES[problem][gate], [own for own, _ in PLACES[problem][conditioned]]
    same_part = np.array([[a == b for b in parts] for a in parts])
    same_regime = np.array([[a == b for b in regimes] for a in regimes])
    given_part, given_regime = (same @ target / (same @ mass) for same in (same_part, same_regime))
    held = (same_part & same_regime) @ mass / (same_part @ mass)
    _, inter, standard = _variances_of(problem, conditioned, level)
    of_gate = _variances_of(problem, gate, level)[2]
    return Gap(
        float((held * (1 - held)).max()), float(np.abs(given_part - given_regime).max()), of_gate - standard,
        of_gate, inter,
    )  # fmt: skip


def _filled(problem: str, level: float) -> np.ndarray:
    """Target masses (branches, cells): the best branch is filled first."""
    mass = np.repeat(BRANCHES[problem], CELLS) / CELLS
    before = np.cumsum(mass) - mass
    return np.clip(level - before, 0, mass).reshape(-1, CELLS)


def _cells(problem: str, name: str, level: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Target and region masses of the cells of a parameter, by regime."""
    target = _filled(problem, level)
    region = np.repeat(BRANCHES[problem], CELLS).reshape(-1, CELLS) / CELLS
    places = PLACES[problem][name]
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for regime in sorted({own for own, _ in places}):
        for part, masses in zip(found, (target, region), strict=True):
            cells: dict[int, np.ndarray] = {}
            for (own, place), mass in zip(places, masses, strict=True):
                if own == regime:
                    added = mass if place == OWN else mass.sum(keepdims=True)
                    cells[place] = cells.get(place, 0) + added
            part.append(np.concatenate([*cells.values()]))
    return found


@cache
def _variances_of(problem: str, name: str, level: float) -> tuple[float, float, float]:
    return _variances(*_cells(problem, name, level))


def _variances(target: list[np.ndarray], region: list[np.ndarray]) -> tuple[float, float, float]:
    """Within-regime, inter-regime and standard variance, from masses of cells by regime."""
    of_target, of_region = (np.array([own.sum() for own in part]) for part in (target, region))
    each = [
        _divergence(t / t.sum(), m / m.sum()) if t.sum() > 0 else 0.0
        for t, m in zip(target, region, strict=True)
    ]
    share = of_target.sum()
    within = float(px.importance.within_regime_variance(np.array(each), of_target, of_region, 1.0))
    inter = float(inter_regime_variance(of_target, of_region, dtype=jnp.float64))
    return (
        within,
        inter,
        float(share**2 * _divergence(np.concatenate(target) / share, np.concatenate(region))),
    )


def residuals(problem: str, level: float) -> tuple[list[float], list[float], list[float]]:
    """direct - within(d); standard(d) - within(d) - v(c); the same with the inter-regime term; of x and y.

    By parzax, but for the direct sum of Theorem 4.2 over the cells.

    In float64, so within `jax.enable_x64`. The target is the best share of the cells.

    The standard variance is that of one density over the cells of all regimes, each regime with cells of its
    own. Cells are equally likely in each regime; c has as many in either, on which the loss does not depend.
    """
    grids = [[_centres(ends) for ends in own] for own in DOMAINS[problem]]
    losses = [x[:, None] + y[None] for x, y in grids]  # (cells of x, cells of y) by regime
    mass = [np.full(own.shape, 0.5 / own.size) for own in losses]
    flat, weight = (np.concatenate([own.ravel() for own in part]) for part in (losses, mass))
    order = np.argsort(flat, kind="stable")
    cutoff = flat[order][np.searchsorted(np.cumsum(weight[order]), level - 1e-12)]
    target = [own * (loss <= cutoff + 1e-9) for own, loss in zip(mass, losses, strict=True)]
    of_target, of_region = (np.array([own.sum() for own in part]) for part in (target, mass))
    share = of_target.sum()
    spread = [np.repeat(own / own.sum() / CELLS, CELLS) for own in (of_target, of_region)]
    of_c = share**2 * _divergence(*spread)
    closed, theorem, lemma = [], [], []
    for axis in (1, 0):  # the mass of x is summed over y
        target_cells, region_cells = ([own.sum(axis=axis) for own in part] for part in (target, mass))
        within, inter, standard = _variances(target_cells, region_cells)
        closed.append(_direct(target_cells, region_cells) - within)
        theorem.append(standard - within - of_c)
        lemma.append(standard - within - inter)
    return closed, theorem, lemma


def _direct(target: list[np.ndarray], region: list[np.ndarray]) -> float:
    """E[Var(P(target | regime, cell) | regime)] by its definition, from masses of cells by regime."""
    found = 0.0
    for own, whole in zip(target, region, strict=True):
        share, given = whole.sum(), own / whole
        found += share * float((whole / share * (given - own.sum() / share) ** 2).sum())
    return found


def _centres(ends: tuple[float, float] | None) -> np.ndarray:
    if ends is None:
        return np.zeros(1)
    edges = np.linspace(*ends, CELLS + 1)
    return (edges[1:] + edges[:-1]) / 2


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float(px.divergence.pearson_divergence(p, q))
