"""Interactions of pairs against closed forms: ``python -m benchmarks.studies.interactions``.

Logs of 1000 rows at gamma' = 0.1 and 0.5. Exits with status 1 where a mean is not as near to the truth as is
promised, or where a pair without an interaction is found too often (or never).
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

import jax
import numpy as np
from scipy.optimize import brentq

import parzax as px
from benchmarks import command

LEVELS = (0.1, 0.5)
N_ROWS = 1000
# Of (s, n, 4) uniform numbers on [-1, 1] and (s, n) on [0, 1]: losses that make membership a sum of a
# function of x and one of y, whatever the level.
ADDITIVE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "noise": lambda _, u: u,
    "x alone": lambda x, _: x[..., 0],
    "x and noise": lambda x, u: x[..., 0] + u,
    "x or y, by chance": lambda x, u: np.where(u < 0.5, x[..., 0], x[..., 1]),
    "a little of both": lambda x, u: u - 0.04 * (x[..., 0] + x[..., 1]),
}
# The largest |mean| of a pair without an interaction; that of skewed rows, of which a quarter share a cell
# of the grid; the least shares of the closed form of x y.
LARGEST_MEAN, LARGEST_SKEWED_MEAN, LEAST_SHARES = 0.001, 0.002, (0.75, 0.9)
# False positives at 5 %.
FEWEST, MOST = 0.01, 0.07


class Outcome(NamedTuple):
    """Of one pair at every level: mean, standard deviation over logs, how often p <= 5 %."""

    mean: list[float]
    deviation: list[float]
    found: list[float]


def log_of(loss: Callable[..., np.ndarray], n_logs: int, skewed: bool = False) -> px.Observations:
    """Logs as seeds, of four parameters; ``skewed`` ones have most of their rows in a corner."""
    rng = np.random.default_rng(1)
    x, u = rng.uniform(-1, 1, (n_logs, N_ROWS, 4)), rng.uniform(size=(n_logs, N_ROWS))
    values = 2 * ((x + 1) / 2) ** 4 - 1 if skewed else x
    return px.Observations.from_arrays(
        px.Space({name: px.Float(-1, 1) for name in "xyzw"}), values, loss(x, u)
    )


def gated(n_logs: int) -> px.Observations:
    """x y where c < 0.5; elsewhere u and v are active, and the loss is noise."""
    rng = np.random.default_rng(2)
    c, noise = rng.uniform(size=(2, n_logs, N_ROWS))
    x, y, u, v = rng.uniform(-1, 1, (4, n_logs, N_ROWS))
    on, off = px.Between("c", high=0.5), px.Between("c", low=0.5)
    space = px.Space({"c": px.Float(0, 1)} | {name: px.Float(-1, 1, when=on) for name in "xy"}
                     | {name: px.Float(-1, 1, when=off) for name in "uv"})  # fmt: skip
    active = [np.where(c < 0.5, own, np.nan) for own in (x, y)] + [
        np.where(c < 0.5, np.nan, own) for own in (u, v)
    ]
    return px.Observations.from_arrays(
        space, np.stack([c, *active], axis=-1), np.where(c < 0.5, x * y, 2 * noise - 1)
    )


def closed_form(gamma: float, share: float = 1.0) -> float:
    """I of x y on [-1, 1]^2, in ``share`` of the rows; the others have a uniform loss on [-1, 1].

    P(x y <= -t | x) = max(0, 1 - t / |x|) / 2 has the mean p = (1 - t + t ln t) / 2, its square the mean (1 -
    t^2 + 2 t ln t) / 4, and I = p (1 - p) less twice the variance of it.
    """
    if gamma == 0.5:
        return share * 0.25

    def mean(t: float) -> float:
        return (1 - t + t * np.log(t)) / 2

    t = brentq(lambda t: share * mean(t) + (1 - share) * (1 - t) / 2 - gamma, 1e-12, 1.0)
    p = mean(t)
    return share * (p * (1 - p) - 2 * ((1 - t**2 + 2 * t * np.log(t)) / 4 - p**2))


def outcomes(obs: px.Observations, n_draws: int) -> dict[tuple[str, str], Outcome]:
    """Of every pair that has one in most logs."""
    found, out = px.interactions(obs, LEVELS, n_draws=n_draws, key=jax.random.key(3)), {}
    for i, pair in enumerate(found.pairs):
        variance, p = found.variance[..., i], found.p_value[..., i]
        if not np.isnan(p).all():
            often = np.mean(p <= 0.05, axis=0).tolist()
            out[pair] = Outcome(variance.mean(axis=0).tolist(), variance.std(axis=0).tolist(), often)
    return out


def by_shuffles(obs: px.Observations, n_draws: int) -> list[float]:
    """How often x and y are found at 5 % when the null is a shuffle of all losses."""
    rng, often = np.random.default_rng(4), []
    for values, losses in zip(obs.values, obs.losses, strict=True):
        shuffled = np.stack([losses, *(rng.permutation(losses) for _ in range(n_draws))])
        copies = px.Observations.from_arrays(
            obs.space, np.broadcast_to(values, (len(shuffled), *values.shape)), shuffled
        )
        drawn = px.interactions(copies, LEVELS, pairs=[("x", "y")], n_draws=0).variance[..., 0]
        often.append((drawn >= drawn[0]).mean(axis=0) <= 0.05)
    return np.mean(often, axis=0).tolist()


def _line(name: str, own: Outcome, truth: list[float] | None = None) -> str:
    mean = " ".join(f"{x:+.4f}" for x in own.mean)
    true = " ".join(f"{x:.4f}" for x in truth) if truth else "0      0     "
    return f"{name:32s} {mean}   {true}   {' '.join(f'{x:.4f}' for x in own.deviation)}   " + " ".join(
        f"{x:.3f}" for x in own.found
    )


def main(argv: list[str] | None = None) -> int:
    """Print what was found of every kind of pair, the seconds of many pairs, and what does not hold."""
    options = command.begin(__doc__, "fewer logs and draws", argv)
    n_logs, n_draws = (40, 100) if options.quick else (400, 500)
    failed, figures = [], {}
    print(f"{n_logs} logs of {N_ROWS} rows; gamma' = {' '.join(map(str, LEVELS))}")
    print(f"{'':32s} {'mean I':15s}   {'true':13s}   {'deviation':13s}   found at 5 %")
    for name, loss in ADDITIVE.items():
        for skewed in (False, True):
            own = outcomes(log_of(loss, n_logs, skewed), n_draws)
            title = f"{name}{', skewed' * skewed}"
            print(_line(f"{title}: x, y", own["x", "y"]))
            figures[title] = {"-".join(pair): of_pair._asdict() for pair, of_pair in own.items()}
            largest = max(np.abs(of_pair.mean).max() for of_pair in own.values())
            often = np.mean([of_pair.found for of_pair in own.values()], axis=0)
            print(
                f"{'  all six pairs':32s} |mean| <= {largest:.4f}{'':39s}{often[0]:.3f} {often[1]:.3f}",
                flush=True,
            )
            promised = LARGEST_SKEWED_MEAN if skewed else LARGEST_MEAN
            if largest > promised:
                failed.append(f"{title}: |mean| {largest:.4f}, {promised} is promised")
            if not options.quick and ((often < FEWEST) | (often > MOST)).any():
                failed.append(
                    f"{title}: found in {np.round(often, 3).tolist()}, {FEWEST} to {MOST} is promised"
                )
    truth = [closed_form(level) for level in LEVELS]
    own = outcomes(log_of(lambda x, _: x[..., 0] * x[..., 1], n_logs), n_draws)["x", "y"]
    print(_line("a product", own, truth))
    shares = np.array(own.mean) / truth
    print(f"{'':32s} {shares[0]:.2f} and {shares[1]:.2f} of the closed form")
    if (shares < LEAST_SHARES).any():
        failed.append(
            f"a product: {np.round(shares, 2).tolist()} of the closed form, {LEAST_SHARES} is promised"
        )
    truth, found = [closed_form(level, 0.5) for level in LEVELS], outcomes(gated(n_logs), n_draws)
    own = found.pop(("x", "y"))
    print(_line("a gated product", own, truth))
    for pair, other in found.items():
        print(_line("  " + ", ".join(pair), other))
    largest = max(np.abs(other.mean).max() for other in found.values())
    if largest > LARGEST_MEAN or min(own.found) < 0.95:
        failed.append(f"a gated product: others {largest:.4f}, found in {own.found}")
    figures |= {"product": {"share": shares.tolist()}, "gated": own._asdict()}
    shuffled = by_shuffles(log_of(ADDITIVE["x or y, by chance"], n_logs // 4), 100)
    print(
        f"\nx or y, by chance, {n_logs // 4} logs, by shuffles of all losses: found in",
        *np.round(shuffled, 3),
    )
    _times(options.quick)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return command.verdict(failed)


def _times(quick: bool) -> None:
    rng = np.random.default_rng(0)
    for d, n, n_draws in (
        ((10, 1000, 1000), (30, 1000, 1000)) if quick else ((10, 1000, 1000), (30, 1000, 8700))
    ):
        x = rng.uniform(-1, 1, (n, d))
        obs = px.Observations.from_arrays(
            px.Space({f"x{i}": px.Float(-1, 1) for i in range(d)}), x, x[:, 0] * x[:, 1]
        )
        call, seconds = partial(px.interactions, obs, 0.1, n_draws=n_draws), []
        for _ in range(3):
            start = perf_counter()
            call()
            seconds.append(perf_counter() - start)
        what = f"{d} parameters, {d * (d - 1) // 2} pairs, {n_draws} draws, one level"
        print(f"{what}: {min(seconds[1:]):.2f} s, and {seconds[0] - min(seconds[1:]):.1f} s to compile")


if __name__ == "__main__":
    sys.exit(main())
