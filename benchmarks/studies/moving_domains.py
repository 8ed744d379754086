"""Domains whose bounds move, against integrals: ``python -m benchmarks.studies.moving_domains [--quick]``.

Shares of x, drawn between bounds that follow from a (and b), which are parameters too, as is y. With
infinitely many rows every pair of bounds is a regime of its own, and Eq. 11 is E Var(P(in the target | x,
bounds)). Exits with status 1 where a promise does not hold: with 1000 rows mean shares within 0.07 of the
integrals for the losses x, x / c and c, of which the spurious one is at most 0.01.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import parzax as px
from benchmarks import command

LEVELS = (0.1, 0.5)
ESTIMATORS = {
    "default": {},
    "one pool": {"grid": px.Grid(max_cells=96, max_pools=1)},
}
# Places of a, b, x and y in the integrals, where one or two bounds move.
_PLACES = {1: (200, 1, 200, 40), 2: (60, 60, 60, 24)}
_MOST_OFF, _MOST_SPURIOUS = 0.07, 0.01


class Rows(NamedTuple):
    """Arrays that broadcast: uniform numbers on [0, 1], the bounds, and x between them."""

    a: Any
    b: Any
    y: Any
    low: Any = None
    high: Any = None
    x: Any = None


@dataclass(frozen=True)
class Problem:
    """A loss of x, whose bounds follow from a and b.

    Attributes:
        bounds: rows -> low, high.
        loss: rows -> loss.
        domain: how x is declared, beside its bounds.
        n_bounds: 2 if b matters.
        only: "x" or "a" where that alone matters, "both" where both do, if a promise is about that.
    """

    bounds: Callable[[Rows], tuple[Any, Any]]
    loss: Callable[[Rows], Any]
    domain: dict[str, Any] = field(default_factory=dict)
    n_bounds: int = 1
    only: str = ""

    def rows(self, a: Any, b: Any, y: Any, u: Any) -> Rows:
        """With x at the quantiles u between its bounds, on the axis of its domain."""
        rows = Rows(a, b, y)
        low, high = self.bounds(rows)
        step = self.domain.get("step", 0)
        start, end = low - step / 2, high + step / 2
        x = start * (end / start) ** u if self.domain.get("log") else start + u * (end - start)
        return rows._replace(low=low, high=high, x=np.floor(x + step / 2) if step else x)

    def shares(self) -> np.ndarray:
        """(q, 4) of x, a, b and y, by integration."""
        sizes = _PLACES[self.n_bounds]
        a, b, u, y = np.meshgrid(*((np.arange(n) + 0.5) / n for n in sizes), indexing="ij", sparse=True)
        loss = np.broadcast_to(self.loss(self.rows(a, b, y, u)), sizes)
        found = []
        for level in LEVELS:
            inside = (loss <= np.quantile(loss, level)).astype(np.float32)
            others = (inside.mean(axis=own).var() for own in ((1, 2, 3), (0, 2, 3), (0, 1, 2)))
            found.append([inside.mean(axis=3).var(axis=2).mean(), *others])
        return np.array(found) / np.sum(found, axis=1, keepdims=True)

    def estimates(self, n: int, n_seeds: int, estimator: dict[str, Any]) -> np.ndarray:
        """(s, q, 4) shares of x, a, b and y."""
        logs = [np.random.default_rng((seed, n)).uniform(size=(4, n)) for seed in range(n_seeds)]
        a, b, u, y = np.stack(logs, axis=1)
        rows = self.rows(a, b, y, u)
        span = px.Varying(float(np.min(rows.low)), float(np.max(rows.high)), **self.domain)
        space = px.Space({"x": span} | {name: px.Float(0, 1) for name in "aby"})
        values, losses = np.stack([rows.x, a, b, y], axis=-1), np.broadcast_to(self.loss(rows), a.shape)
        bounds = {"x": (rows.low, rows.high)}
        obs = px.Observations.from_arrays(space, values, losses, bounds=bounds)
        return np.asarray(px.cond_ped_anova(obs, LEVELS, **estimator, n_resamples=0).importance)

    def broken(self, share: np.ndarray, truth: np.ndarray) -> str:
        """What does not hold of the promises, of mean shares (q, 4) with 1000 rows; "" for nothing."""
        wrong = {"x": share[:, 1], "a": share[:, 0]}.get(self.only, np.zeros(1)).max()
        if self.only and np.abs(share[:, 0] - truth[:, 0]).max() > _MOST_OFF:
            return f"{share[:, 0].round(3)} where {truth[:, 0].round(3)} is true"
        return f"a spurious share of {wrong:.3f}" if wrong > _MOST_SPURIOUS else ""


def _upto(rows: Rows) -> tuple[Any, Any]:
    return 0.0, rows.a


def _peak(rows: Rows) -> Any:
    return (rows.x - 0.6) ** 2 + 0.02 * rows.y


PROBLEMS = {
    "x in [0, c], loss x": Problem(_upto, lambda r: r.x, only="both"),
    "x in [0, c], loss x / c": Problem(_upto, lambda r: r.x / r.high, only="x"),
    "x in [0, c], loss c": Problem(_upto, lambda r: r.high, only="a"),
    "x in [0, c], loss (x / c - 0.3)^2 + y / 4": Problem(
        _upto, lambda r: (r.x / r.high - 0.3) ** 2 + r.y / 4
    ),
    "x in [0, c], loss y": Problem(_upto, lambda r: r.y),
    "x in [c, 1], loss (x - 0.6)^2 + y / 50": Problem(lambda r: (r.a, 1.0), _peak),
    "x in [c, c + 1/4], loss (x - 0.6)^2 + y / 50": Problem(lambda r: (r.a, r.a + 0.25), _peak),
    "x in [-a, b], loss x + y / 2": Problem(
        lambda r: (-0.1 - r.a, 0.1 + r.b), lambda r: r.x + 0.5 * r.y, n_bounds=2
    ),
    "log x in [1e-4, c], loss log x + y": Problem(
        lambda r: (1e-4, 10 ** (-3 * r.a)), lambda r: np.log(r.x) + r.y, {"log": True}
    ),
    "k in 1..c, loss k + 4 y": Problem(
        lambda r: (1.0, np.floor(2 + 38 * r.a)), lambda r: r.x + 4 * r.y, {"step": 1}
    ),
}


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    options = command.begin(__doc__, "one size, fewer seeds", argv)
    sizes, n_seeds = ((1000,), 10) if options.quick else ((100, 1000, 10_000), 20)
    print(f"mean share of x over {n_seeds} seeds (root mean square error) at two levels {LEVELS}")
    print(f"{'':44s} {'rows':>6s}  {'integral':13s}" + "".join(f"  {name:27s}" for name in ESTIMATORS))
    figures, failed = {}, []
    for name, problem in PROBLEMS.items():
        truth = problem.shares()
        for n in sizes:
            cells = []
            for how, estimator in ESTIMATORS.items():
                shares = problem.estimates(n, n_seeds, estimator)
                mean, errors = shares.mean(axis=0), np.square(shares[..., 0] - truth[:, 0]).mean(axis=0)
                pairs = zip(mean[:, 0], np.sqrt(errors), strict=True)
                cells.append(" ".join(f"{share:.3f} ({error:.3f})" for share, error in pairs))
                figures[f"{name}, {n}, {how}"] = mean[:, 0].tolist()
                if how == "default" and n == 1000 and (what := problem.broken(mean, truth)):
                    failed.append(f"{name}: {what}")
            known = " ".join(f"{share:6.3f}" for share in truth[:, 0])
            print(f"{name:44s} {n:6d}  {known}" + "".join(f"  {cell:27s}" for cell in cells), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return command.verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
