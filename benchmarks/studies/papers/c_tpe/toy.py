"""Figures 2 and 3: two discs in a plane."""

from collections.abc import Iterator, Mapping

import jax
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    judged,
    standard_error,
    together,
)
from benchmarks.studies.papers.runs import Arrays
from parzax.samplers import Sampler

# Of Figure 2: radius of the feasible disc, whose square is c*, and the printed shares of the two groups.
MAPS = {"tight": (2.0, 0.3, 0.12), "loose": (4.0, 0.02, 0.5)}
# Of Figure 3: where the feasible disc is; both discs have this radius.
OVERLAPS, RADIUS = {"large": 0.5, "small": 2.3}, 3**0.5
# Of the disc with the best tenth of [-5, 5]^2.
TOP_RADIUS = (10 / np.pi) ** 0.5
# A peak is at least so high beside the highest; where "between" is.
LOWEST, BETWEEN = 0.1, Range(0.05, 0.95)
# Shares that differ by less are alike.
SAME = 0.1
N_ROWS, N_DRAWS, N_GRID = 200, 100, 81
# Draws of which the shares of the groups alone are looked at; and how many of them the printed draw is among.
N_SHARES, AMONG = 400, (0.025, 0.975)
N_EVALUATIONS, N_RUNS = 50, 400
METHODS = ("c-TPE", "naive")
# Of Figure 3's evaluations: random ones at the start; distance that is at the boundary; "intensively".
N_STARTUP, AT_BOUNDARY, INTENSIVE = 10, 0.25, 0.5


def grid() -> np.ndarray:
    """(N_GRID^2, 2) points of the plane."""
    axis = np.linspace(-5, 5, N_GRID)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def _samplers(problem: px.Problem) -> dict[str, Sampler]:
    return {
        name: (px.papers.naive_c_tpe if name == "naive" else px.c_tpe)(problem.space, n_constraints=1)
        for name in METHODS
    }


def maps() -> Arrays:
    """A unit: "gamma/NAME" (N_SHARES, 2), "score/NAME/METHOD" (draws, grid), "rows/NAME" (draws, 200, 2)."""
    found = {}
    for name, (radius, *_) in MAPS.items():
        problem = toys.discs(radius=radius)
        keys = jax.random.split(jax.random.key(0), N_SHARES)
        x = np.asarray(jax.vmap(lambda key: jax.random.uniform(key, (N_ROWS, 2), minval=-5, maxval=5))(keys))
        losses, excess = jax.vmap(jax.vmap(problem, in_axes=(None, 0)), in_axes=(None, 0))(keys[0], x)
        found[f"rows/{name}"] = x[:N_DRAWS]
        for method, sampler in _samplers(problem).items():
            states = [
                sampler.tell(sampler.init(N_ROWS), *own)
                for own in zip(x, np.asarray(losses), np.asarray(excess), strict=True)
            ]
            scores = [np.asarray(sampler.score_of(state, grid())) for state in states[:N_DRAWS]]
            found[f"score/{name}/{method}"] = np.stack(scores)
            if method == "c-TPE":
                found[f"gamma/{name}"] = np.stack([np.asarray(sampler.split(s).gamma) for s in states])
    return found


def overlaps() -> Arrays:
    """A unit: "x/NAME/METHOD" (runs, 50, 2) of whole runs."""
    found = {}
    for name, middle in OVERLAPS.items():
        problem = toys.discs(0.0, middle, RADIUS)
        for method, sampler in _samplers(problem).items():
            keys = jax.random.split(jax.random.key(1), N_RUNS)
            trace = px.optimize_many(keys, sampler, problem, N_EVALUATIONS, progress=False)
            found[f"x/{name}/{method}"] = np.asarray(trace.x)
    return found


def rows(found_maps: Mapping[str, np.ndarray], found_overlaps: Mapping[str, np.ndarray]) -> Iterator[Row]:
    """Rows of both figures."""
    for name, (radius, *printed) in MAPS.items():
        yield from _shares(found_maps, name, radius, printed)
        yield from _shape(found_maps, name, radius)
    for name in OVERLAPS:
        yield from _overlap(found_overlaps, name)


def _shares(found: Mapping[str, np.ndarray], name: str, radius: float, printed: list[float]) -> Iterator[Row]:
    for i, wanted in enumerate(printed):
        own = found[f"gamma/{name}"][:, i].astype(float).round(6)
        low, high = np.quantile(own, AMONG)
        text = f"{own.mean():.3f}, 95 % of draws from {low:.3f} to {high:.3f} ({len(own)} draws of 200 rows)"
        text += f"; {100 * (own <= wanted).mean():.2g} % are at most {wanted:g}"
        # Printed to two digits: less than half of one away.
        verdict = judged(wanted, 0, Range(float(low) - 0.00499, float(high) + 0.00499))
        where, note = f"Figure 2, c* = {radius**2:g}", "the paper has one draw: agrees where it is among 95 %"
        yield Row(f"f2-{name}-gamma{i}", where, f"gamma_{i} = {wanted:g}", text, verdict, note)


def peaks(score: np.ndarray) -> int:
    """Points above their neighbours, at least `LOWEST` as high as the highest, from log scores (grid,)."""
    height = np.exp(score - score.max()).reshape(N_GRID, N_GRID)
    padded, steps = np.pad(height, 1, constant_values=-1.0), (0, 1, 2)
    around = [padded[i : i + N_GRID, j : j + N_GRID] for i in steps for j in steps if (i, j) != (1, 1)]
    return int(((height > np.max(around, axis=0)) & (height >= LOWEST)).sum())


def _shape(found: Mapping[str, np.ndarray], name: str, radius: float) -> Iterator[Row]:
    """How many peaks, and where the highest is between the best point (0) and the centre of the disc (1)."""
    where = f"Figure 2, B.2.1, c* = {radius**2:g}"
    ours, naive = (np.array([peaks(own) for own in found[f"score/{name}/{m}"]]) for m in METHODS)
    share = float(((ours == 1) & (naive >= 2)).mean())
    text = f"{(naive >= 2).sum()} and {(ours == 1).sum()} of {len(ours)} draws, both in {100 * share:.0f} %"
    yield Row(
        f"f2-{name}-peaks", where, "the naive product has two peaks, c-TPE's score has one", text,
        judged(share, float(np.sqrt(share * (1 - share) / len(ours))), Range(0.5)),
        f"of a tenth of the highest or more, on a grid of {N_GRID} by {N_GRID}; read as: in most draws",
    )  # fmt: skip
    best = grid()[found[f"score/{name}/c-TPE"].argmax(axis=1)]
    place = (best + 2.0).mean(axis=1) / 3.0
    error = standard_error(place)
    yield Row(
        f"f2-{name}-between", where,
        f"the peak is between the top-10% domain and the feasible domain [{BETWEEN}]",
        f"{place.mean():.2f} ± {error:.2g} of the way",
        judged(float(place.mean()), error, BETWEEN),
        "read as: between the best point (0) and the centre of the disc (1); our range",
    )  # fmt: skip


def _overlap(found: Mapping[str, np.ndarray], name: str) -> Iterator[Row]:
    """Share of the last 25 evaluations that are good and feasible."""
    middle, shares = OVERLAPS[name], {}
    for method in METHODS:
        late = found[f"x/{name}/{method}"][:, N_EVALUATIONS // 2 :]
        good = np.sum(late**2, axis=-1) <= RADIUS**2
        feasible = np.sum((late - middle) ** 2, axis=-1) <= RADIUS**2
        shares[method] = (good & feasible).mean(axis=1)
    lead = float(shares["c-TPE"].mean() - shares["naive"].mean())
    error = float(np.sqrt(sum(x.var(ddof=1) / len(x) for x in shares.values())))
    text = ", ".join(f"{m} {x.mean():.3f}" for m, x in shares.items()) + f", difference ± {error:.2g}"
    printed = f"{name} overlap: c-TPE samples more of where good and feasible meet than the naive product"
    note = f"share of the latter half of {N_EVALUATIONS} evaluations, {N_RUNS} runs"
    if name == "small":
        yield Row(f"f3-{name}", "Figure 3", printed, text, judged(lead, error, Range(0)), note)
        return
    same = Range(-SAME, SAME)
    yield Row("f3-alike", "Figure 3", "large overlap: both search alike", text, judged(lead, error, same),
              f"{note}; our range: shares within {SAME:g}")  # fmt: skip
    yield Row(f"f3-{name}", OURS_ALONE, printed, text, judged(lead, error, Range(0)), note)


def trajectory_rows(found: Mapping[str, np.ndarray]) -> Iterator[Row]:
    """What is said of the small overlap in Figure 3: where evaluations are, and how they move."""
    middle, where, n = OVERLAPS["small"], "Figure 3, B.2.2", N_EVALUATIONS
    x = {method: found[f"x/small/{method}"] for method in METHODS}
    edge = {m: np.abs(np.linalg.norm(own - middle, axis=-1) - RADIUS) < AT_BOUNDARY for m, own in x.items()}
    late = {m: own[:, n // 2 :].mean(axis=1) for m, own in edge.items()}
    words = ", ".join(f"{m} {own.mean():.3f} ± {standard_error(own):.1g}" for m, own in late.items())
    ours, naive = (late[m] for m in METHODS)
    yield Row(
        "f3-boundary", where,
        "small overlap: c-TPE samples intensively at the boundary of the feasible domain, the naive product "
        f"does not [share {Range(INTENSIVE)}, {Range(high=INTENSIVE)}]",
        f"share within {AT_BOUNDARY:g} of the boundary, of the latter half of {n} evaluations: {words}",
        together([
            judged(float(ours.mean()), standard_error(ours), Range(INTENSIVE)),
            judged(float(naive.mean()), standard_error(naive), Range(high=INTENSIVE)),
        ]),
        f"{len(ours)} runs; our range",
    )  # fmt: skip
    near, far = middle * 2**0.5 - RADIUS, TOP_RADIUS
    arrived = round(far + AT_BOUNDARY, 2)
    for method, key, printed, wanted in (
        ("c-TPE", "f3-trajectory", "small overlap: c-TPE moves from the top right of the feasible domain to "
         "the boundary between it and the top-10% domain", Range(high=arrived)),
        ("naive", "f3-trajectory-naive", "this happens only to c-TPE, not to the naive product, although "
         "both have observations in the top right", Range(arrived)),
    ):  # fmt: skip
        distance, feasible = np.linalg.norm(x[method], axis=-1), _is_feasible(x[method], middle)
        distance = np.where(feasible, distance, np.nan)
        corner = (feasible & (x[method].mean(axis=-1) > middle)).any(axis=1).mean()
        slopes, first = _slopes(distance), float(np.nanmedian(distance[:, N_STARTUP : 2 * N_STARTUP]))
        last, error = _median(distance[:, -N_STARTUP:])
        text = (
            f"distance of feasible evaluations to the best point: median {first:.2f} in the ten after the "
            f"random ones, {last:.2f} ± {error:.1g} in the last ten; slope {slopes.mean():.4f} ± "
            f"{standard_error(slopes):.1g} per evaluation; "
            f"{100 * corner:.0f} % of runs have one in the top right"
        )
        verdicts = [judged(last, error, wanted), judged(float(corner), 0, Range(0.5))]
        if method == "c-TPE":
            verdicts.append(judged(float(slopes.mean()), standard_error(slopes), Range(high=0)))
        note = f"what is feasible and in the top 10% is {near:.2f} to {far:.2f} away; our range is for the "
        note += "last ten" + (", and the slope is below 0" if method == "c-TPE" else "")
        note += (
            f"; top right: beyond the centre ({middle * 2**0.5:.2f} away) at any time, random ones too, in "
        )
        note += "half of the runs"
        yield Row(key, where, f"{printed} [{wanted}]", text, together(verdicts), note)


def _is_feasible(x: np.ndarray, middle: float) -> np.ndarray:
    return np.sum((x - middle) ** 2, axis=-1) <= RADIUS**2


def _slopes(distance: np.ndarray) -> np.ndarray:
    """Slopes (r,) of lines through distances (runs, n); of runs with three or more after the random ones."""
    slopes = []
    for run in distance[:, N_STARTUP:]:
        (at,) = np.nonzero(~np.isnan(run))
        if len(at) > 2:
            slopes.append(np.polyfit(at, run[at], 1)[0])
    return np.array(slopes)


def _median(distance: np.ndarray) -> tuple[float, float]:
    """Of all distances (runs, n) that are no NaN, and its error by resampling the runs."""
    rng = np.random.default_rng(0)
    drawn = [np.nanmedian(distance[rng.integers(0, len(distance), len(distance))]) for _ in range(200)]
    return float(np.nanmedian(distance)), float(np.std(drawn))
