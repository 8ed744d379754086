"""Statements of two draws from the papers' texts that have no other row: units and rows of `further`."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Range, Row, judged, missing
from benchmarks.studies.papers.runs import Arrays, Unit

CONDITIONAL, CONSTRAINED, META = "arXiv 2601.20800", "arXiv 2211.14411", "arXiv 2212.06751"


def units() -> list[Unit]:
    """All of them, in a minute."""
    accuracies = Unit("first/accuracy", f"{__name__}:accuracy", needs=("optuna", "sklearn"), alone=True)
    names = ["first/slopes", "first/presets", "first/categories"]
    names += [f"second/{name}" for name in ("suggestions", "products", "quantiles", "shift")]
    names += ["second/activity"] if data.folder() is not None else []
    return [*(Unit(name, f"{__name__}:{name.split('/')[1]}", cost=20) for name in names), accuracies]


def accuracy() -> Arrays:
    """Errors of shares, and seconds, (logs,) by method, of 9 a^2 + 3 b^2 + c^2 on [-0.5, 0.5]^4."""
    import optuna

    from benchmarks.studies.papers.cond_ped_anova.baselines import first_study
    from benchmarks.studies.papers.cond_ped_anova.peers import evaluated

    space = px.Space({name: px.Float(-0.5, 0.5) for name in "abcd"})
    weights = np.array([9.0, 3.0, 1.0, 0.0])
    x = np.random.default_rng(1).uniform(-0.5, 0.5, (1_000_000, 4))
    loss = x**2 @ weights
    is_best = loss <= np.quantile(loss, 0.1)
    cells = np.minimum((100 * (x + 0.5)).astype(int), 99)
    of_best = np.array([np.bincount(cells[:, j], is_best, 100).var() for j in range(4)])
    truth = {"f-ANOVA": weights**2, "PED-ANOVA": of_best, "parzax": of_best}
    x = x[:900].reshape(3, 300, 4)
    obs = px.Observations.from_arrays(space, x, x**2 @ weights)
    of_optuna = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.1, region_quantile=1.0)
    methods: dict[str, Callable[[int], Any]] = {
        "f-ANOVA": lambda seed: evaluated("f-ANOVA", first_study(obs, seed), seed),
        "PED-ANOVA": lambda seed: of_optuna.evaluate(first_study(obs, seed)),
        "parzax": lambda seed: px.cond_ped_anova(obs, 0.1, n_resamples=0).importance[seed],
    }
    found = {f"{what}/{name}": np.zeros(3) for name in methods for what in ("error", "seconds")}
    for name, method in methods.items():
        for seed in range(3):
            start = time.perf_counter()
            shares = method(seed)
            found[f"seconds/{name}"][seed] = time.perf_counter() - start
            each = np.array([shares[own] for own in "abcd"] if isinstance(shares, dict) else shares)
            found[f"error/{name}"][seed] = np.abs(each / each.sum() - truth[name] / truth[name].sum()).max()
    return found


def slopes() -> Arrays:
    """Gap (examples,) of the slopes of c-TPE's score where two ratios, and their shares, are equal."""
    rng, gap = np.random.default_rng(0), np.zeros(100)
    for i in range(100):
        ratios, shares = np.exp(rng.normal(size=3)), rng.uniform(0.02, 0.98, 3)
        ratios[1], shares[1] = ratios[0], shares[0]
        factors = 1 / (shares + (1 - shares) / ratios)
        by_hand = (1 - shares) / (shares * ratios + 1 - shares) ** 2 * factors.prod() / factors
        with jax.enable_x64(True):
            ours = np.asarray(_slopes(jnp.asarray(ratios), jnp.asarray(shares)))
        gap[i] = max(abs(ours[0] / ours[1] - 1), np.abs(ours / by_hand - 1).max())
    return {"gap": gap}


@jax.jit
def _slopes(ratios: jax.Array, shares: jax.Array) -> jax.Array:
    def score(r: jax.Array) -> jax.Array:
        return jnp.exp(px.acquisition.constrained_score(jnp.log(r)[:, None], jnp.zeros((3, 1)), shares)[0])

    return jax.grad(score)(ratios)


def presets() -> Arrays:
    """What differs from loops (logs,) in the presets by the texts: in "probability" a gap, else a count."""
    plane = px.Space({"u": px.Float(0, 1), "v": px.Float(0, 1)})
    grid = px.Space({"a": px.Categorical(list("stuv")), "b": px.Int(0, 5)})
    cells = np.array([[a, b] for a in range(4) for b in range(6)], float)
    names = ("quantiles", "picks", "probability", "ties")
    found: dict[str, list[float]] = {name: [] for name in names}

    def below(sampler: px.samplers.Sampler, *rows: np.ndarray) -> np.ndarray:
        state = sampler.tell(sampler.init(64), *rows)
        return np.asarray(sampler.split(state).below)[:, : len(rows[0])]

    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, wrong = rng.random((60, 2)), 0
        distances = ((x - 0.4) ** 2).sum(axis=1)
        for loss in (distances, np.exp(9 * distances), -1 / (distances + 0.1)):  # of one order
            quantiles = np.array([(loss <= value).mean() for value in loss])
            source = px.Observations.from_arrays(plane, x, loss)
            sampler: Any = px.papers.meta_learn_tpe(plane, [source])
            of_source = np.asarray(sampler.smoothing.sources.n_rows).ravel()[0]
            wrong += abs(of_source - (quantiles <= 0.1).sum())
            wrong += (below(sampler, x, loss)[0] != (quantiles <= 0.1)).sum()
        found["quantiles"].append(wrong)
        f = rng.integers(0, 7, 60).astype(float)
        cut_off = np.sort(f)[math.ceil(math.sqrt(60) / 4) - 1]
        found["ties"].append(
            (below(px.papers.c_tpe(plane, n_constraints=0), x, f)[0] != (f <= cut_off)).sum()
        )
        x = np.stack([rng.integers(0, 4, 60), rng.integers(0, 6, 60)], axis=1).astype(float)
        losses = np.stack([x[:, 1] + rng.random(60), rng.random(60)], axis=1)
        sampler = px.papers.mo_tpe(grid, 2)
        state = sampler.tell(sampler.init(64), x, losses)
        picked = sampler.ask(jax.random.key(seed), state, candidates=cells)[0]
        best = cells[np.asarray(sampler.score_of(state, cells)).argmax()]
        found["picks"].append(float((np.asarray(picked) != best).any()))
        good, gap = np.isin(np.arange(60), _by_rank(losses)[:6]), 0.0
        ours = below(sampler, x, losses)[0]
        for here in ((x == cell).all(axis=1) for cell in cells):
            if here.any():
                low, high, gamma = here[ours].mean(), here[~ours].mean(), ours.mean()
                by_densities = gamma * low / (gamma * low + (1 - gamma) * high)
                gap = max(gap, abs(by_densities - good[here].mean()))
        found["probability"].append(gap)
    return {name: np.array(gaps, float) for name, gaps in found.items()}


def _by_rank(losses: np.ndarray) -> np.ndarray:
    """Rows by non-domination rank, then by crowding distance."""
    left, order = list(range(len(losses))), []
    while left:
        worse = {
            i for i in left for j in left if (losses[j] <= losses[i]).all() and (losses[j] < losses[i]).any()
        }
        front = [i for i in left if i not in worse]
        distance = dict.fromkeys(front, 0.0)
        for column in losses.T:
            by_value = sorted(front, key=lambda i, column=column: column[i])
            distance[by_value[0]] = distance[by_value[-1]] = math.inf
            for before, i, after in zip(by_value, by_value[1:], by_value[2:], strict=False):
                width = column[by_value[-1]] - column[by_value[0]]
                distance[i] += (column[after] - column[before]) / width
        order += sorted(front, key=lambda i, distance=distance: -distance[i])
        left = sorted(worse)
    return np.array(order)


def categories() -> Arrays:
    """Of every table of NAS-Bench-201: rows, then the numbers of categories of its categorical parameters."""
    folder, found = data.folder(), {}
    for path in sorted(folder.glob("nasbench201/*.json")) if folder else []:
        header = json.loads(path.read_text(encoding="utf-8"))
        kinds = [len(h["values"]) for h in header["hyperparameters"] if h["kind"] == "categorical"]
        found[header["name"]] = np.array([len(np.load(path.with_suffix(".npz"))["index"]), *kinds])
    return found


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Of both draws."""
    yield from first_rows(found)
    yield from second_rows(found)


def first_rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Of the first draw: gaps that are at most so large."""
    largest = {name: float(gaps.max()) for name, gaps in found["first/presets"].items()}
    counts = (
        ("quantiles", f"{META}, A.1", "by its quantile function every task is split at gamma: other rows"),
        ("picks", f"{META}, Section 3.3", "MO-TPE picks the largest ratio of densities: other picks"),
        ("ties", f"{CONSTRAINED}, A.4, Eq. 4", "the rows below are those with f <= f^gamma: other rows"),
    )
    for name, where, printed in counts:
        note = "presets of `px.papers`, 10 logs"
        yield _row(f"first-{name}", where, printed, f"{largest[name]:.0f}", largest[name], 0.0, note)
    gap = largest["probability"]
    printed = "with several objectives the ratio gives the probability of a rank up to that of f^gamma: gap"
    note = "groups of `px.papers.mo_tpe`, ranks by a loop, densities by counts; 10 logs of 24 cells"
    yield _row("first-probability", f"{META}, B.3, Eq. 29 to 31", printed, f"{gap:.1e}", gap, 1e-12, note)
    gap = float(found["first/slopes"]["gap"].max())
    printed = "equal shares and ratios give equal slopes of the score: gap"
    yield _row(
        "first-slopes", f"{CONSTRAINED}, C.3", printed, f"{gap:.1e}", gap, 1e-12, "relative; 100 examples"
    )
    own = found["first/categories"]
    where = f"{CONSTRAINED}, G.3"
    printed = "the space of NAS-Bench-201 has six categorical parameters: other tables"
    if own:
        wrong = sum(len(sizes) != 7 or np.prod(sizes[1:]) != sizes[0] for sizes in own.values())
        note = "the rows are all combinations of six choices of five"
        yield _row("first-categories", where, printed, f"{wrong} of {len(own)}", float(wrong), 0.0, note)
    else:
        yield missing("first-categories", where, printed, "the tables in PARZAX_DATA")
    where, printed = (
        f"{CONDITIONAL}, Section 1",
        "PED-ANOVA is much faster than f-ANOVA, and as accurate: error",
    )
    own = found["first/accuracy"]
    if not own:
        yield missing("first-accuracy", where, printed, "optuna and scikit-learn")
        return
    error = {name: float(own[f"error/{name}"].mean()) for name in ("f-ANOVA", "PED-ANOVA", "parzax")}
    ratio = float((own["seconds/f-ANOVA"] / own["seconds/PED-ANOVA"]).min())
    ours = ", ".join(f"{name} {x:.3f}" for name, x in error.items()) + f"; {ratio:.0f} times as fast"
    note = (
        "largest error of a share, of Optuna's and ours; 9 a^2 + 3 b^2 + c^2, the best tenth of 3 logs of "
        "300 rows, f-ANOVA's by the variance of the function; our range, with 10 times as fast"
    )
    yield _row(
        "first-accuracy", where, printed, ours, error["PED-ANOVA"] if ratio > 10 else math.inf, 0.1, note
    )


# --- the second draw ---------------------------------------------------------------------------------------


def suggestions() -> Arrays:
    """Share (logs,) of 2000 suggestions that are of the best fifth of 25 configurations, all of them rows."""
    grid = px.Space({"a": px.Int(0, 4), "b": px.Int(0, 4)})
    proposal = px.samplers.Proposal(epsilon=0.25, repeats=True)
    sampler = px.tpe(grid, split=px.Split(px.gamma.Linear(0.2)), proposal=proposal)
    ask = jax.jit(jax.vmap(sampler.ask, (0, None)))
    cells, shares = np.stack(np.divmod(np.arange(25.0), 5), axis=1), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        losses = rng.permutation(25).astype(float)
        rows = np.concatenate([np.arange(25), rng.integers(25, size=15)])
        state = sampler.tell(sampler.init(64), cells[rows], losses[rows])
        suggested = np.asarray(ask(jax.random.split(jax.random.key(seed), 2000), state))[:, 0]
        best = cells[losses < 5]
        shares.append((suggested[:, None] == best).all(axis=-1).any(axis=-1).mean())
    return {"shares": np.array(shares)}


def activity() -> Arrays:
    """Entries of the stored logs, and those whose activity is not what the conditions of the space say."""
    folder = data.folder()
    assert folder is not None, "a unit of stored logs"
    n_entries = n_other = 0
    for path in [*folder.glob("synthetic/*.npz"), *folder.glob("yahpo/rbv2_*.npz")]:
        log = np.load(path)
        name = path.stem if path.parent.name == "synthetic" else "_".join(path.stem.split("_")[:2])
        space = px.Space.from_json(path.with_name(f"{name}.space.json").read_text(encoding="utf-8"))
        order = [log["names"].tolist().index(own) for own in space.names]
        x = log["values"].reshape(-1, len(order))[:, order]
        is_missing = np.isnan(x)
        filled = np.where(is_missing, np.nanmin(x, axis=0), x)
        by_conditions = np.isnan(space.flatten(dict(zip(space.names, filled.T, strict=True))))
        n_entries += x.size
        n_other += int((by_conditions != is_missing).sum())
    return {"n": np.array(n_entries), "other": np.array(n_other)}


def products() -> Arrays:
    """Of sign(x) sin(y): the largest main effect, and what explains membership of its best quarter."""
    middles = ((np.arange(1000) + 0.5) / 500 - 1) * math.pi
    f = np.sign(middles)[:, None] * np.sin(middles)
    space = px.Space({name: px.Float(-math.pi, math.pi) for name in "xy"})
    x = np.random.default_rng(0).uniform(-math.pi, math.pi, (20_000, 2))
    log = px.encode(space, x, np.sign(x[:, 0]) * np.sin(x[:, 1]), levels=[0.25])
    explained = px.importance.estimate(log).variance[0] / (0.25 * 0.75)
    both = px.importance.interactions(log).importance[0]
    return {
        "main": np.array([f.mean(axis=1).var(), f.mean(axis=0).var()]),
        "explained": np.concatenate([explained, both]),
    }


def quantiles() -> Arrays:
    """Shares (functions, levels) of rows up to each twentieth, by the level sets of `px.encode`."""
    space = px.Space({"x": px.Float(0, 1)})
    x, levels = np.random.default_rng(0).random((4000, 1)), np.arange(1, 20) / 20
    losses = ((x[:, 0] - 0.3) ** 2, np.exp(3 * x[:, 0]), np.sin(8 * x[:, 0]))
    counts = [px.importance.estimate(px.encode(space, x, own, levels=levels)).n_target for own in losses]
    return {"gaps": np.array(counts) / 4000 - levels}


def shift() -> Arrays:
    """Similarities of ellipsoids: c = 0 with c = 2, and two logs with c = 0; and the error of the first."""
    space, logs = px.Space({name: px.Float(-5, 5) for name in "abcd"}), []
    for seed, c in enumerate((0.0, 2.0, 0.0)):
        x = np.random.default_rng(seed).uniform(-5, 5, (20_000, 4))
        logs.append(px.Observations.from_arrays(space, x, ((x - c) ** 2 * 5.0 ** np.arange(4)).sum(axis=1)))
    table = px.lens.similarity.task_similarity(logs)
    return {"similarity": table.similarity[0, 1:], "error": np.asarray(table.error[0, 1])}


def second_rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Of the second draw."""
    least = float(found["second/suggestions"]["shares"].min())
    error, above = math.sqrt(least * (1 - least) / 2000), Range(low=0.0)
    printed = (
        f"an epsilon-greedy suggestion is of X^gamma with more than probability gamma: by how much [{above}]"
    )
    ours, verdict = f"{least - 0.2:.3f} ± {error:.3f} at least", judged(least - 0.2, error, above)
    note = "`px.tpe`, gamma 0.2, epsilon 0.25, 10 logs"
    yield Row("second-suggestions", f"{META}, B.5", printed, ours, verdict, note)
    where, own = f"{CONDITIONAL}, Section 4.2", found.get("second/activity")
    printed = "other parameters determine the regime: entries where the conditions of the space say otherwise"
    if own:
        ours, note = f"{own['other']} of {own['n']}", "`px.Space.flatten` of all stored logs"
        yield _row("second-activity", where, printed, ours, float(own["other"]), 0.0, note)
    else:
        yield missing("second-activity", where, printed, "the logs in PARZAX_DATA")
    largest = float(found["second/products"]["main"].max())
    x, y, both = found["second/products"]["explained"]
    note = f"by sums; of its best quarter x explains {x:.2f}, y {y:.2f}, both together {both:.2f} more"
    printed = "sign(x) sin(y) has no variance in either dimension, though both change it: main effects"
    yield _row("second-products", f"{META}, B.6", printed, f"{largest:.1e} at most", largest, 1e-12, note)
    largest = float(np.abs(found["second/quantiles"]["gaps"]).max())
    printed = "quantiles of a function are uniform: share of rows up to a level less the level"
    ours, note = f"{largest:.1e} at most", "level sets of three functions"
    yield _row("second-quantiles", f"{META}, A.1, Figure 6", printed, ours, largest, 1e-3, note)
    number, same = (float(x) for x in found["second/shift"]["similarity"])
    error, above = float(found["second/shift"]["error"]), Range(low=0.9)
    printed = f"the densities p(x | y, t) are those of other tasks: similarity of the rows below [{above}]"
    note = f"c = 0 and 2; {same:.2f} for two logs of c = 0; our range"
    reason = "p(y | t) is the same, which is the fourth assumption of B.1; densities may differ there"
    ours, verdict = f"{number:.3f} ± {error:.3f}", judged(number, error, above)
    yield Row("second-shift", f"{META}, Section 4.1", printed, ours, verdict, note, reason)


def _row(key: str, where: str, printed: str, ours: str, gap: float, most: float, note: str) -> Row:
    wanted = Range(high=most)
    return Row(key, where, f"{printed} [{wanted}]", ours, judged(gap, 0, wanted), note)
