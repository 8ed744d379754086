"""Theorem F.1 and Lemma F.2 on the exact cell masses of the problems."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.papers.cond_ped_anova.curves import LEVELS
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.papers.rows import Range, Row, judged
from benchmarks.papers.runs import Arrays

CELLS, EXACT = 60, Range(0, 1e-12)
# Lowest and highest x and y where c < 0.5, and where not; None where a parameter is inactive.
DOMAINS = {
    DISJOINT: (((-5, -2), None), (None, (2, 5))),
    OVERLAP: (((-5, 2), None), (None, (-2, 5))),
    MOVING: (((-7, -2), (-5, -2)), ((2, 7), (2, 5))),
}


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The largest |standard(d) - within(d) - v(c)|, and with the inter-regime term for v(c), of x and y."""
    del found
    texts = {
        "Theorem F.1": "where c acts through the regime of d alone, the standard variance of d is its "
        "within-regime variance and that of c",
        "Lemma F.2": "the standard variance is the within-regime variance and the inter-regime term",
    }
    for problem in DOMAINS:
        each = np.abs([residuals(problem, level) for level in LEVELS]).max(axis=(0, 2))
        for (where, printed), largest in zip(texts.items(), each.tolist(), strict=True):
            yield Row(
                f"{where.lower().replace(' ', '-')}-{problem}", f"{where}, {problem}",
                f"{printed}: largest difference [{EXACT}]",
                f"{largest:.1e}, exact masses of {CELLS} cells, 99 levels", judged(largest, 0, EXACT),
            )  # fmt: skip


def residuals(problem: str, level: float) -> tuple[list[float], list[float]]:
    """standard(d) - within(d) - v(c), and with the inter-regime term for v(c), of x and y.

    The target is the best share of the cells.

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
    share = sum(own.sum() for own in target)
    beta, alpha = np.full(2, 0.5), np.array([own.sum() for own in target]) / share
    of_c = share**2 * _divergence(np.repeat(alpha / CELLS, CELLS), np.repeat(beta / CELLS, CELLS))
    inter = share**2 * ((alpha - beta) ** 2 / beta).sum()
    theorem, lemma = [], []
    for axis in (1, 0):  # the mass of x is summed over y
        cells = [[own.sum(axis=axis) for own in part] for part in (target, mass)]
        extended, region = (np.concatenate(own) for own in cells)
        standard = share**2 * _divergence(extended / share, region)
        within = sum(
            share**2 * a**2 / b * _divergence(t / t.sum(), m / m.sum())
            for a, b, t, m in zip(alpha, beta, *cells, strict=True)
            if t.sum() > 0
        )
        theorem.append(float(standard - within - of_c))
        lemma.append(float(standard - within - inter))
    return theorem, lemma


def _centres(ends: tuple[float, float] | None) -> np.ndarray:
    if ends is None:
        return np.zeros(1)
    edges = np.linspace(*ends, CELLS + 1)
    return (edges[1:] + edges[:-1]) / 2


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((q * (p / q - 1) ** 2).sum())
