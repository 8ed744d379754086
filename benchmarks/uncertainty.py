"""Error bars of one log, held to many logs: coverage, false positives, verdicts; and their speed.

    python -m benchmarks.uncertainty [--quick] [--only coverage|dependent|noise|groups|verdicts|speed]

Prints tables, and at the end which claims do not hold; exit status 1 if there is one.
"""

import argparse
import sys
import time
from collections.abc import Iterator

import jax
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.optuna_peer import end_to_end, study_of
from benchmarks.synthetic import PROBLEMS, SyntheticProblem

LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
# Levels at which a cut-off lies exactly between two regimes.
EDGES = {"activation-disjoint": 0.5, "regime-dependent-domain": 0.5}
# Parameters of less importance are not counted.
ACTIVE = 0.05
# By number of rows, the least and the largest coverage of a cell that is asked for, in per cent.
ASKED = {100: (80, 99), 300: (85, 99), 1000: (85, 99)}
MEAN = (86, 96)
FALSE_POSITIVES = (0.01, 0.07)


def logs(problem: SyntheticProblem, seed: int, n_logs: int, n: int) -> px.Observations:
    """Random searches of n rows, one per seed."""
    keys = jax.random.split(jax.random.key(seed), n_logs)
    values, losses = jax.vmap(lambda key: problem.sample(key, n))(keys)
    return px.Observations.from_arrays(problem.space, np.asarray(values, float), np.asarray(losses, float))


def coverage(quick: bool) -> Iterator[str]:
    """How often the interval of a log has the estimator's mean over logs of its size; claims."""
    n_logs, n_truth, n_resamples = (150, 400, 200) if quick else (500, 1000, 200)
    print(f"\ncoverage in % of the nominal 90 % interval, {n_logs} logs, {n_resamples} half-samples")
    for n, (least, largest) in ASKED.items():
        if quick and n == 1000:
            continue
        cells, flagged = [], []
        for problem in PROBLEMS:
            truth = px.cond_ped_anova(logs(problem, 1, n_truth, n), LEVELS, n_resamples=0)
            mean, active = truth.variance.mean(axis=0), truth.importance.mean(axis=0) >= ACTIVE
            found = px.cond_ped_anova(
                logs(problem, 2, n_logs, n),
                LEVELS,
                n_resamples=n_resamples,
                n_shuffles=0,
                key=jax.random.key(3),
            )
            ends = found.variance_interval
            inside = 100 * ((ends[..., 0] <= mean) & (mean <= ends[..., 1])).mean(axis=0)
            edge = np.isclose(LEVELS, EDGES.get(problem.name, -1))
            few, between = (
                (found.status & int(bits) != 0).mean(axis=0) > 0.5
                for bits in (px.Status.LOW_DATA | px.Status.LOW_REGIME_DATA, px.Status.REGIME_BOUNDARY)
            )
            print(f"  {n:5d} rows, {problem.name}")
            for j, name in enumerate(problem.space.names):
                shown = [
                    "     -" if not active[q, j]
                    else f"{inside[q, j]:5.0f}{_mark(edge[q], between[q, j], few[q, j])}"
                    for q in range(len(LEVELS))
                ]  # fmt: skip
                print((f"    {name:4s}" + "".join(shown)).rstrip())
                own = active[:, j] & ~edge
                cells += inside[own, j].tolist()
                flagged += (between | few)[own, j].tolist()
        low, high = min(cells), max(cells)
        below, above = np.array(cells) < least, np.array(cells) > largest
        print(f"  {n} rows: {low:.0f} to {high:.0f}, mean {np.mean(cells):.1f}; of {len(cells)} cells "
              f"{below.sum()} below {least} ({(below & np.array(flagged)).sum()} of them flagged), "
              f"{above.sum()} above {largest}")  # fmt: skip
        if not MEAN[0] <= np.mean(cells) <= MEAN[1]:
            yield f"mean coverage at {n} rows is {np.mean(cells):.1f} %, not within {MEAN}"
        if low < least - 5:  # a run of few logs scatters by 3 %
            yield f"coverage at {n} rows falls to {low:.0f} %"
    print("  e: a cut-off exactly between two regimes; in most logs b: REGIME_BOUNDARY, f: LOW_DATA or "
          "LOW_REGIME_DATA")  # fmt: skip


def _mark(edge: bool, between: bool, few: bool) -> str:
    return "e" if edge else "b" if between else "f" if few else " "


def _beside_noise() -> px.Problem:
    own = toys.ellipsoid(4)
    domains = {name: own.space[name] for name in own.space.names}
    noise = {"noise": px.Float(-5, 5), "label": px.Categorical(list("abc"))}
    return px.Problem(
        lambda key, x: own(key, x[:4])[0], px.Space(domains | noise), name="ellipsoid and noise"
    )


def dependent(quick: bool) -> Iterator[str]:
    """The same of logs that TPE made, whose rows depend on each other and crowd; nothing is claimed."""
    problem = _beside_noise()
    sampler = px.papers.tpe(problem.space)
    n_logs, n_truth, n_resamples, n_shuffles = (60, 120, 100, 99) if quick else (300, 600, 200, 199)
    levels = [0.1, 0.3, 0.5]
    print(f"\nthe same of {n_logs} logs of TPE on a 4-dimensional ellipsoid beside two parameters that do "
          f"nothing,\nand how often these have p <= 0.05, {n_shuffles} shuffles")  # fmt: skip
    for n in (100,) if quick else (100, 200):
        keys = jax.random.split(jax.random.key(11), n_logs + n_truth)
        trace = px.optimize_many(keys, sampler, problem, n_evaluations=n)
        x, loss = np.asarray(trace.x, float), np.asarray(trace.losses[..., 0], float)
        first, rest = slice(0, n_logs), slice(n_logs, None)
        truth = px.cond_ped_anova(
            px.Observations.from_arrays(problem.space, x[rest], loss[rest]), levels, n_resamples=0
        )
        obs, key = px.Observations.from_arrays(problem.space, x[first], loss[first]), jax.random.key(0)
        shuffled = px.cond_ped_anova(obs, levels, n_resamples=0, n_shuffles=n_shuffles, key=key)
        positive = (shuffled.p_value <= 0.05).mean(axis=0)
        # Without shuffles no interval is moved to 0.
        found = px.cond_ped_anova(obs, levels, n_resamples=n_resamples, n_shuffles=0, key=key)
        ends, mean = found.variance_interval, truth.variance.mean(axis=0)
        inside = 100 * ((ends[..., 0] <= mean) & (mean <= ends[..., 1])).mean(axis=0)
        for level, row, rates in zip(levels, inside[:, :4], positive[:, 4:], strict=True):
            print(f"  {n:5d} rows, level {level}: " + " ".join(f"{cell:.0f}" for cell in row) + "; "
                  + " ".join(f"{rate:.3f}" for rate in rates))  # fmt: skip
    yield from ()


def noisy(n: int, n_logs: int, seed: int) -> px.Observations:
    """The disjoint activation problem with 20 parameters that do nothing."""
    problem, rng = PROBLEMS[0], np.random.default_rng(seed)
    obs = logs(problem, seed, n_logs, n)
    domains = {name: problem.space[name] for name in problem.space.names}
    columns = [obs.values]
    u = rng.uniform(size=(20, n_logs, n, 1))
    in_branch = ~np.isnan(obs.values[..., 1:2])
    for i in range(20):
        kind = ("uniform", "skewed", "integer", "log", "category", "branch")[i % 6]
        domain, x = {
            "uniform": (px.Float(0, 1), u[i]),
            "skewed": (px.Float(0, 1), u[i] ** 4),
            "integer": (px.Int(1, 8), 1 + np.floor(8 * u[i])),
            "log": (px.Float(1e-4, 1, log=True), 1e-4 ** u[i]),
            "category": (px.Categorical(list("abcde")), np.floor(5 * u[i])),
            "branch": (px.Float(0, 1, when=px.Between("c", high=0.5)), np.where(in_branch, u[i], np.nan)),
        }[kind]
        domains[f"{kind} {i}"] = (domain,)
        columns.append(x)
    space = px.Space(domains)
    return px.Observations.from_arrays(space, np.concatenate(columns, axis=-1), obs.losses[..., 0])


def noise(quick: bool) -> Iterator[str]:
    """How often parameters that do nothing are found, and what importance they get; claims."""
    n_logs, n_shuffles = (100, 199) if quick else (400, 399)
    print(f"\n20 parameters of noise, {n_logs} logs, {n_shuffles} shuffles, level 0.1: "
          "p <= 0.05, and share of the total in %, of each kind")  # fmt: skip
    for n in (50, 300) if quick else (50, 100, 300, 1000):
        obs = noisy(n, n_logs, 5)
        found = px.cond_ped_anova(obs, 0.1, n_resamples=0, n_shuffles=n_shuffles, key=jax.random.key(0))
        names, p, share = found.names, found.p_value[:, 0], found.importance[:, 0].mean(axis=0)
        tested = ~np.isnan(p)
        positive = (tested & (p <= 0.05)).sum(axis=0) / np.maximum(tested.sum(axis=0), 1)
        kinds = dict.fromkeys(name.split()[0] for name in names[3:])
        shown = []
        for kind in kinds:
            own = [j for j, name in enumerate(names) if name.startswith(kind)]
            shown.append(
                f"{kind} {positive[own].min():.3f}-{positive[own].max():.3f}, {100 * share[own].mean():.2f}"
            )
        first = (np.argsort(-found.importance[:, 0], axis=-1)[:, :1] == 1).mean()
        print(f"  {n:5d} rows: {'; '.join(shown)}; x first in {100 * first:.0f} %")
        # What chance leaves: four standard errors of a rate of 0.05.
        slack = 4 * (0.05 * 0.95 / n_logs) ** 0.5 - 0.02
        for j in range(3, len(names)):
            if not FALSE_POSITIVES[0] - slack <= positive[j] <= FALSE_POSITIVES[1] + slack:
                yield f"{names[j]} is above chance in {positive[j]:.3f} of the logs of {n} rows"


def epochs(
    rng: np.random.Generator,
    n_logs: int,
    n_epochs: int,
    *,
    effects: tuple[float, float, float] = (0.0, 0.0, 0.0),
    spread: float = 0.0,
    together: bool = True,
) -> px.Observations:
    """Logs of 100 configurations of three parameters, with some epochs each; a configuration is a group.

    The loss is the sum of effect * parameter, and noise. Values vary by up to ``spread`` within a group.
    Without ``together`` every row is a group.
    """
    x, rows = rng.uniform(size=(n_logs, 100, 3)), np.repeat(np.arange(100), n_epochs)
    loss = (x @ np.array(effects) + rng.normal(size=x.shape[:2]))[:, rows]
    loss += 0.1 * rng.normal(size=loss.shape)
    values = np.clip(x[:, rows] + spread * rng.uniform(-1, 1, size=(*loss.shape, 3)), 0, 1)
    labels = np.broadcast_to(rows if together else np.arange(len(rows)), loss.shape)
    space = px.Space({name: px.Float(0, 1) for name in "abc"})
    return px.Observations.from_arrays(space, values, loss, groups=labels)


def groups(quick: bool) -> Iterator[str]:
    """False positives, power and coverage of logs of epochs, beside logs of single rows; claims."""
    n_logs, n_truth, n_resamples, numbers = (20, 200, 100, (1, 20)) if quick else (100, 400, 200, (1, 5, 20))
    rng, key, n_shuffles = np.random.default_rng(8), jax.random.key(0), 99
    print(f"\n100 configurations, {n_logs} logs, {n_shuffles} shuffles, {n_resamples} half-samples")

    def found(obs: px.Observations) -> np.ndarray:
        result = px.cond_ped_anova(obs, 0.1, n_resamples=0, n_shuffles=n_shuffles, key=key)
        return result.above_chance[:, 0]

    print("  three parameters of noise, level 0.1, logs with one above chance:")
    for name, obs in {
        "20 epochs, in groups": epochs(rng, n_logs, 20),
        "20 epochs, values vary by 0.05 within a group": epochs(rng, n_logs, 20, spread=0.05),
        f"20 epochs, each row alone ({n_logs // 10} logs)": epochs(rng, n_logs // 10, 20, together=False),
    }.items():
        rate = found(obs).any(axis=-1).mean()
        print(f"    {name}: {100 * rate:.0f} %")
        if rate > (0.2 if quick else 0.09) and "alone" not in name:
            yield f"{100 * rate:.0f} % of the logs of noise have a parameter above chance: {name}"
    print("  a has an effect of 4, level 0.1, logs with a above chance:")
    power = {k: found(epochs(rng, n_logs, k, effects=(4, 0, 0)))[:, 0].mean() for k in numbers}
    for k, rate in power.items():
        print(f"    {k} epoch{'s' * (k > 1)}: {100 * rate:.0f} %")
        if rate < power[1] - 0.1:
            yield f"{100 * rate:.0f} % power with {k} epochs, {100 * power[1]:.0f} % with one"
    effects = (4.0, 3.0, 0.0)
    truth = (
        px.cond_ped_anova(epochs(rng, n_truth, 1, effects=effects), 0.3, n_resamples=0)
        .importance[:, 0]
        .mean(axis=0)
    )
    print(f"  a and b have effects of 4 and 3, level 0.3, coverage of their mean importances "
          f"{truth[0]:.2f} and {truth[1]:.2f}:")  # fmt: skip
    for k in numbers:
        result = px.cond_ped_anova(
            epochs(rng, n_logs, k, effects=effects), 0.3, n_resamples=n_resamples, n_shuffles=0, key=key
        )
        low, high = np.moveaxis(result.importance_interval[:, 0, :2], -1, 0)
        inside = 100 * ((low <= truth[:2]) & (truth[:2] <= high)).mean(axis=0)
        print(f"    {k} epoch{'s' * (k > 1)}: {inside[0]:.0f} % and {inside[1]:.0f} %")
        if not (inside >= ASKED[100][0]).all():
            yield f"coverage with {k} epochs is {inside.min():.0f} %"


def verdicts(quick: bool) -> Iterator[str]:
    """Rows that a verdict asks for, over those at which the verdict was "enough rows"; claims."""
    n_logs, n_resamples, tolerance = (10, 200, 0.05) if quick else (25, 400, 0.05)
    print(f"\nrows asked for over rows then needed to within {tolerance}, {n_logs} logs of each size")
    sizes = np.unique(np.round(50 * 2 ** np.arange(0, 6.1, 0.5)).astype(int))
    early, late, silent = [], [], 0
    for problem in PROBLEMS:
        for level in (0.1, 0.3):
            every = [
                px.cond_ped_anova(
                    logs(problem, 7, n_logs, int(n)), level, n_resamples=n_resamples, n_shuffles=0,
                    key=jax.random.key(1),
                )
                for n in sizes
            ]  # fmt: skip
            typical = np.array([np.median(known.margin[:, 0]) for known in every])
            if not (typical <= tolerance).any():
                print(f"  {problem.name}, level {level}: more than {sizes[-1]} rows are needed")
                continue
            # Between two sizes by the power law that joins them.
            i = int(np.argmax(typical <= tolerance))
            t = np.log(typical[i - 1] / tolerance) / np.log(typical[i - 1] / typical[i])
            needed = float(np.exp(np.log(sizes[i - 1]) + t * np.log(sizes[i] / sizes[i - 1])))
            for n, known in zip(sizes[:i].tolist(), every, strict=False):
                asked = known.rows_needed(tolerance)[:, 0]
                more = asked[asked > n] - n
                silent += int(np.isnan(asked).sum())
                if not len(more):
                    continue
                ratio = more / (needed - n)
                (early if 2 * n <= needed else late).append(ratio)
                spread = " ".join(f"{x:.2f}" for x in np.quantile(ratio, [0.1, 0.5, 0.9]))
                print(f"  {problem.name}, level {level}, {n} rows, {needed - n:.0f} more needed: ratio "
                      f"{spread} (10, 50, 90 %)")  # fmt: skip
    found = {}
    for name, ratios in (("half of the rows or more", early), ("fewer", late), ("any", early + late)):
        every = np.concatenate(ratios)
        found[name] = 100 * ((every >= 0.5) & (every <= 2)).mean()
        print(f"  within a factor of two where {name} are missing: {found[name]:.0f} % of {len(every)}")
    print(f"  no number is given in {silent} cases, of 20 target rows or fewer")
    if found["any"] < (75 if quick else 80):
        yield f"verdicts are within a factor of two in {found['any']:.0f} % only"


def speed(quick: bool) -> Iterator[str]:
    """Resamples of a sweep beside Optuna's evaluator (extrapolated), and one level; claims."""
    problem, n = PROBLEMS[0], 1000
    obs, levels, key = logs(problem, 0, 1, n), np.arange(1, 100) / 100, jax.random.key(0)
    one = px.Observations.from_arrays(obs.space, obs.values[0], obs.losses[0, :, 0])
    study = study_of(obs, 0)

    def timed(call) -> float:
        call()
        took = []
        for _ in range(2 if quick else 5):
            start = time.perf_counter()
            call()
            took.append(time.perf_counter() - start)
        return min(took)

    def sampled(level, **asked):
        return timed(lambda: px.cond_ped_anova(one, level, n_resamples=1000, key=key, **asked))

    peer = timed(lambda: [end_to_end(study, level) for level in (0.1, 0.5, 0.9)]) / 3
    whole, alone, both = sampled(levels, n_shuffles=0), sampled(0.1, n_shuffles=0), sampled(0.1)
    ratio = 99_000 * peer / whole
    print(f"\n1000 half-samples x 99 levels x 3 parameters, 1000 rows: {whole:.2f} s; Optuna "
          f"{1e3 * peer:.1f} ms a level and log, extrapolated to 99,000: {ratio:.0f} times that")  # fmt: skip
    print(f"one level, 1000 half-samples: {1e3 * alone:.0f} ms; with 1000 shuffles {1e3 * both:.0f} ms")
    if ratio < (500 if quick else 1000):
        yield f"resampling is {ratio:.0f} times as fast as Optuna, not 1000"


PARTS = {
    "coverage": coverage,
    "dependent": dependent,
    "noise": noise,
    "groups": groups,
    "verdicts": verdicts,
    "speed": speed,
}


def main(argv: list[str] | None = None) -> int:
    """Print the tables; 1 if a claim is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer logs")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part")
    args = parser.parse_args(argv)
    broken = [claim for name in args.only or PARTS for claim in PARTS[name](args.quick)]
    print("\n" + ("\n".join(f"BROKEN: {claim}" for claim in broken) or "all claims hold"))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
