"""Theorem 4.2, Theorem F.1 and Lemma F.2 on the exact cell masses of the problems."""

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.papers.cond_ped_anova.curves import LEVELS
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.papers.rows import Range, Row, judged
from benchmarks.papers.runs import Arrays
from parzax.importance.variance import inter_regime_variance

CELLS, EXACT = 60, Range(0, 1e-12)
# Lowest and highest x and y where c < 0.5, and where not; None where a parameter is inactive.
DOMAINS = {
    DISJOINT: (((-5, -2), None), (None, (2, 5))),
    OVERLAP: (((-5, 2), None), (None, (-2, 5))),
    MOVING: (((-7, -2), (-5, -2)), ((2, 7), (2, 5))),
}


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The largest of the `residuals` of x and y, over the levels."""
    del found
    with jax.enable_x64(True):
        each = {
            problem: np.abs([residuals(problem, level) for level in LEVELS]).max(axis=(0, 2))
            for problem in DOMAINS
        }
    texts = {
        "Theorem 4.2": "E_I[Var(P(target | I, Z) | I)], summed over the cells, is the closed form",
        "Theorem F.1": "where c acts through the regime of d alone, the standard variance of d is its "
        "within-regime variance and that of c",
        "Lemma F.2": "the standard variance is the within-regime variance and the inter-regime term",
    }
    for problem, differences in each.items():
        for (where, printed), largest in zip(texts.items(), differences.tolist(), strict=True):
            yield Row(
                f"{where.lower().replace(' ', '-')}-{problem}", f"{where}, {problem}",
                f"{printed}: largest difference [{EXACT}]",
                f"{largest:.1e}, exact masses of {CELLS} cells, 99 levels", judged(largest, 0, EXACT),
            )  # fmt: skip


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
    inter = float(inter_regime_variance(of_target, of_region, dtype=jnp.float64))
    closed, theorem, lemma = [], [], []
    for axis in (1, 0):  # the mass of x is summed over y
        cells = [[own.sum(axis=axis) for own in part] for part in (target, mass)]
        extended, region = (np.concatenate(own) for own in cells)
        standard = share**2 * _divergence(extended / share, region)
        each = [
            _divergence(t / t.sum(), m / m.sum()) if t.sum() > 0 else 0.0 for t, m in zip(*cells, strict=True)
        ]
        within = float(px.within_regime_variance(np.array(each), of_target, of_region, 1.0))
        closed.append(_direct(*cells) - within)
        theorem.append(float(standard - within - of_c))
        lemma.append(float(standard - within - inter))
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
    return float(px.pearson_divergence(p, q))
