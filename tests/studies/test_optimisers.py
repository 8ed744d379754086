"""The suite of optimisers: problems with known optima, runs that see the same, statistics, the verdict."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from benchmarks.studies.optimisers import (
    bbob,
    constrained,
    discrete,
    methods,
    mixed,
    page,
    peers,
    scores,
    searches,
    suites,
    tables,
    two,
)
from benchmarks.studies.optimisers.__main__ import no_better_than_random
from benchmarks.studies.optimisers.problems import CHOICE, HALVES, KEPT, Case, Group, of_best, run
from benchmarks.studies.optimisers.spread import Spread
from reference import tables as reference

import parzax as px

pytestmark = pytest.mark.data

N_SEEDS = 3


def points(space: px.Space, n: int, seed: int = 0) -> np.ndarray:
    sampler = px.tpe(space)
    keys = jax.random.split(jax.random.key(seed), n)
    return np.asarray(jax.vmap(lambda key: sampler.ask(key, sampler.init(1))[0])(keys))


def test_halves():
    """Catches a problem of both halves or of none, and a half without one of the suites."""
    for suite in suites.SUITES:
        for group in suites.names(suite):
            choice, kept = (suites.cases(group, half) for half in HALVES)
            assert not set(choice) & set(kept)
            assert all(case.split("/")[0] == group for case in (*choice, *kept))
            assert len(kept) <= len(choice) <= 3 + len(kept)
            if group in mixed.SPACES:
                built = suites.build(group, N_SEEDS)
                for half, names in ((CHOICE, choice), (KEPT, kept)):
                    assert [case.name for case in built.of(half)] == names
        # Without PARZAX_DATA or bbobax some suites have no problem at all.
        choice, kept = (any(suites.cases(group, half) for group in suites.names(suite)) for half in HALVES)
        assert choice == kept
    assert [half for _, half in bbob.names(2)][:2] in ([], [CHOICE, KEPT])


def gap(group: Group, case: Case, own: tuple, x: np.ndarray) -> float:
    """What is left after a single evaluation."""
    told = group.evaluate(case.shared, own, jax.random.key(0), x)
    return group.gaps(case.shared, own, x[None], *(part[None] for part in told))[0]


def plain_regret(space: px.Space, base: str, own: tuple, x: np.ndarray) -> float:
    """Value by value, from the description."""
    offsets, optima = (np.asarray(a, float) for a in own)
    place, at, label, t = 0, [], None, []
    for (domain,), value in zip(space.domains, x, strict=True):
        if isinstance(domain, px.Categorical):
            if not np.isnan(value):
                at.append(place + int(value))
                label = at[0] if label is None else label
            place += len(domain.choices)
            continue
        is_ordinal = isinstance(domain, px.Ordinal)
        low, high = (domain.values[0], domain.values[-1]) if is_ordinal else (domain.low, domain.high)
        scale = np.log if domain.log else np.asarray
        t.append((scale(value) - scale(low)) / (scale(high) - scale(low)))
    t = np.array([0 if np.isnan(u) else 5 * (u - o) for u, o in zip(t, optima[label], strict=True)])
    waves = 3 * (1 - np.cos(2 * np.pi * t))
    value = {
        "quadratic": sum((1 + 4 * i / (len(t) - 1)) * u**2 for i, u in enumerate(t)),
        "rastrigin": sum(t**2 + waves),
        "rosenbrock": sum(10 * ((1 + b) - (1 + a) ** 2) ** 2 + a**2 for a, b in itertools.pairwise(t)),
    }[base]
    return value + offsets[at].sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", mixed.SPACES)
def test_mixed_values(name):
    """Catches another function than described: an inactive parameter that counts, another label's offset."""
    group = mixed.group(name, N_SEEDS)
    x = points(group.space, 20)
    for case in group.cases:
        base = case.name.split("/")[1]
        if base in ("ackley", "noisy quadratic", "steps"):
            continue
        own = run(case.own, 1)
        found = jax.vmap(lambda x, case=case, own=own: gap(group, case, own, x))(x)
        wanted = [plain_regret(group.space, base, own, row.astype(float)) for row in x]
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", discrete.SPACES)
@jax.numpy_dtype_promotion("standard")  # bbobax needs both
@jax.numpy_rank_promotion("allow")
def test_discrete_optimum(name):
    """Catches an optimum between two values, values in another order, and points outside of BBOB's box."""
    pytest.importorskip("bbobax")
    from bbobax import bbob_suite

    group = discrete.group(name, N_SEEDS, CHOICE)
    suite, rng = bbob_suite(num_dims=len(group.space)), np.random.default_rng(0)
    for case in group.cases[:3]:
        own = run(case.own, 2)
        best, other, place = (np.zeros(len(group.space)) for _ in range(3))
        for d, (domain,) in enumerate(group.space.domains):
            at = float(own.x_opt[d])
            if isinstance(domain, px.Float):
                best[d], other[d] = at, rng.uniform(-5, 5)
                place[d] = other[d]
                continue
            values = domain.values if isinstance(domain, px.Ordinal) else range(domain.low, domain.high + 1)
            m = len(values)
            k, j = min(int((at + 5) * m / 10), m - 1), rng.integers(m)
            best[d], other[d] = values[k], values[j]
            place[d] = at + (j - k) * 10 / m
            assert at - k * 10 / m >= -5.001
            assert at + (m - 1 - k) * 10 / m <= 5.001
        assert gap(group, case, own, jnp.asarray(best)) <= 1e-3
        wanted = suite[case.name.split(" ")[-1]].evaluate(jax.random.key(0), jnp.asarray(place), own).fitness
        np.testing.assert_allclose(gap(group, case, own, jnp.asarray(other)), wanted, rtol=1e-3)


@pytest.mark.parametrize("name", mixed.SPACES)
@pytest.mark.some(1)
def test_mixed_optimum(name):
    """Catches an optimum off the grid of integers and ordinals: then no configuration has the regret 0."""
    group = mixed.group(name, N_SEEDS)
    space = group.space
    for case in group.cases:
        offsets, optima = run(case.own, 2)
        x, place, label, numeric = np.full(len(space), np.nan), 0, None, 0
        for d, (domain,) in enumerate(space.domains):
            if isinstance(domain, px.Categorical):
                own = offsets[place : place + len(domain.choices)]
                assert (np.asarray(own) == 0).sum() == 1
                x[d] = int(np.argmin(own))
                label = place + int(x[d]) if label is None else label
                place += len(domain.choices)
        for d, (domain,) in enumerate(space.domains):
            if not isinstance(domain, px.Categorical):
                u = float(optima[label, numeric])
                low, high = mixed._ends(domain)
                value = low * (high / low) ** u if domain.log else low + u * (high - low)
                if isinstance(domain, px.Int):
                    assert value == pytest.approx(round(value), abs=1e-2 * max(1, value / 100))
                    value = round(value)
                if isinstance(domain, px.Ordinal):
                    assert min(abs(np.array(domain.values) - value)) < 1e-3 * value
                x[d], numeric = value, numeric + 1
        compiled = jax.jit(lambda own, x, case=case: gap(group, case, own, x))
        assert float(compiled((offsets, optima), jnp.asarray(x, float))) < 0.02


def test_tables(tmp_path, monkeypatch):
    """Catches a regret of one training instead of the mean over seeds, one below 0, and names in the code."""
    write_tables(tmp_path, monkeypatch, "small", "other", "third")
    (group,) = tables.groups()
    assert [(case.name, case.half) for case in group.cases] == [
        ("new/other", CHOICE), ("new/small", KEPT), ("new/third", CHOICE),
    ]  # fmt: skip
    assert suites.cases("new", CHOICE) == ["new/other", "new/third"]
    for case in group.cases:
        problem = case.shared[0]
        losses = np.asarray(problem.losses, float)[:, :, 0]
        mean = means(losses)
        assert np.isnan(mean).nonzero()[0].tolist() == [FAILED]
        mean[FAILED] = np.nanmax(mean)
        x = jax.jit(jax.vmap(problem.decode))(np.arange(len(mean)))
        found = jax.jit(jax.vmap(lambda x, case=case: gap(group, case, (), x)))(x)
        np.testing.assert_allclose(found, mean - mean.min(), rtol=1e-5, atol=1e-6)
        evaluate = jax.jit(lambda x, case=case: group.evaluate(case.shared, (), jax.random.key(0), x)[0][0])
        drawn = float(evaluate(x[7]))
        assert np.isclose(drawn, losses[7]).any()


@pytest.mark.slow
def test_balls():
    """Catches an optimum that is not feasible, another share than named, and gaps of what is not feasible."""
    group = constrained.group(constrained.BALL, N_SEEDS)
    x = jnp.asarray(points(group.space, 400), float)
    for case, (name, _) in zip(group.cases, constrained.cases(constrained.BALL), strict=True):
        assert case.name == name
        own = run(case.own, 1)
        objectives, constraints = jax.vmap(
            lambda x, case=case, own=own: group.evaluate(case.shared, own, jax.random.key(0), x)
        )(x)
        feasible = np.asarray(constraints[:, 0] <= 0)
        assert feasible.mean() > 0.5 * float(name.split()[-1])
        found = np.asarray(group.gaps(case.shared, own, x, objectives, constraints))
        assert (np.diff(found) <= 0).all() or "noisy" in name
        first = int(feasible.argmax())
        assert (found[:first] == float(own[3])).all()
        alone = float(gap(group, case, own, x[first]))
        assert found[first] == pytest.approx(alone, rel=1e-5)
        best = np.asarray(own[0][1])[int(np.asarray(own[0][0])[:4].argmin())]
        assert ((best - np.asarray(own[1])) ** 2).sum() < float(own[2])


FAILED = 3


def write_tables(folder, monkeypatch, *names: str) -> None:
    """Small tables of one family: each configuration has three trainings or two, one of them none.

    Losses span orders of magnitude.
    """
    monkeypatch.setenv("PARZAX_DATA", str(folder))
    for seed, name in enumerate(names):
        header, arrays = reference.content(seed)
        header |= {"name": name, "family": "new", "objective": {"array": "loss"}}
        arrays["loss"] **= 4
        arrays["loss"][FAILED] = np.nan
        (folder / name).mkdir()
        reference.write(folder / name, header, arrays)


def means(losses: np.ndarray) -> np.ndarray:
    """Over the trainings (n, s, ...) of which everything is known; NaN without any."""
    out = np.full((len(losses), *losses.shape[2:]), np.nan)
    for i, row in enumerate(losses):
        known = row[~np.isnan(row.reshape(len(row), -1)).any(axis=1)]
        if len(known):
            out[i] = known.mean(axis=0)
    return out


@pytest.mark.slow
def test_constrained_tables(tmp_path, monkeypatch):
    """Catches an entry that is not feasible and counts, and thresholds of a table in both halves.

    And the loss of one training instead of the mean, by which doing the same again is rewarded.
    """
    write_tables(tmp_path, monkeypatch, "small", "other")
    for name in (name for name in constrained.names() if name != constrained.BALL):
        halves = dict(constrained.cases(name))
        assert {half for case, half in halves.items() if "/other" in case} == {CHOICE}
        group = constrained.group(name, N_SEEDS)
        for case in group.cases:
            problem = case.shared[0]
            every = np.asarray(problem.losses, float)[..., 0], np.asarray(problem.excess, float)
            ever = [
                any(not np.isnan(loss) and (limits <= 0).all() for loss, limits in zip(*row, strict=True))
                for row in zip(*every, strict=True)
            ]
            mean = np.where(ever, means(every[0]), np.nan)
            above = mean - np.nanmin(mean)
            keys = jax.random.split(jax.random.key(1), 80)
            rows = np.arange(80) % 40
            x = jax.vmap(problem.decode)(jnp.asarray(rows))
            losses, excess = jax.vmap(problem)(keys, x)
            found = np.asarray(group.gaps(case.shared, (), x, losses, excess))
            wanted, least, own = [], np.inf, np.nanmax(above)
            for row, (loss,), limits in zip(rows, np.asarray(losses), np.asarray(excess), strict=True):
                if (limits <= 0).all() and loss < least:
                    least, own = loss, above[row]
                wanted.append(own)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_tables_of_two(tmp_path, monkeypatch):
    """Against the hypervolume of mean losses in NumPy; catches that of single trainings, and no log axis."""
    write_tables(tmp_path, monkeypatch, "small", "other")
    monkeypatch.setattr(two, "metrics", lambda _: ("loss", "size_mb"))
    group = two.group("new, two metrics", N_SEEDS)
    for case in group.cases:
        problem = case.shared[0]
        losses = np.asarray(problem.losses, float)
        mean = means(losses)
        known = mean[~np.isnan(mean).any(axis=1)]
        least, middle, most = known.min(axis=0), np.median(known, axis=0), known.max(axis=0)
        for j in range(2):
            assert (most[j] > 100 * least[j]) == (j == 0)
            if j == 0:
                mean[:, j] = np.log(mean[:, j])
                least[j], middle[j] = np.log(least[j]), np.log(middle[j])
        shares = np.nan_to_num(np.clip((mean - least) / (middle - least), 0, None), nan=2)
        rows = np.append(FAILED, np.arange(29) * 7 % len(mean))
        x = jax.jit(jax.vmap(problem.decode))(rows)
        told = jax.jit(jax.vmap(problem))(jax.random.split(jax.random.key(2), 30), x)
        found = jax.jit(lambda x, *told, case=case: group.gaps(case.shared, (), x, *told))(x, *told)
        wanted = [1 - px.pareto.hypervolume(shares[rows[: i + 1]], np.ones(2)) for i in range(30)]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_missing_volume():
    """Against the hypervolume of each prefix; catches a row outside the box that counts, and NaN."""
    rng = np.random.default_rng(3)
    losses = rng.uniform(-0.1, 1.4, (40, 2))
    losses[5], losses[9, 1] = np.nan, np.nan
    found = np.asarray(jax.jit(two.missing_volume)(losses))
    kept = np.clip(losses, 0, None)
    wanted = [1 - px.pareto.hypervolume(kept[: i + 1], np.ones(2)) for i in range(len(losses))]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_of_best():
    """Catches a regret that follows the smallest regret, not the smallest loss, and NaN that is best."""
    losses = jnp.array([3.0, jnp.nan, 2.0, 2.0, 5.0, 1.0])
    regrets = jnp.array([1.0, 0.0, 4.0, 0.0, 0.0, 2.0])
    assert of_best(regrets, losses).tolist() == [1, 1, 4, 4, 4, 2]


@pytest.mark.slow
def test_search_by_hand():
    """Catches runs of one instance, one set of random numbers, and gaps that rise."""
    group = suites.build("mixed", N_SEEDS)
    x = points(group.space, 1)[0]
    for case in group.cases:
        assert len({float(gap(group, case, run(case.own, i), x)) for i in range(N_SEEDS)}) == N_SEEDS
    found = searches.search(methods.RANDOM, "mixed", CHOICE, N_SEEDS, 20)
    assert float(found.pop("seconds")) > 0
    assert list(found) == suites.cases("mixed", CHOICE)
    for regrets in found.values():
        assert regrets.shape == (N_SEEDS, 20)
        assert (np.diff(regrets, axis=1) <= 0).all()
        assert len({*regrets[:, -1].tolist()}) == N_SEEDS


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["Optuna TPE", "Hyperopt"])
def test_peers_see_the_same(peer, monkeypatch):
    """Catches a peer that is asked on another instance, or that sets parameters which are not active."""
    group = suites.build("conditional", 2)
    case = group.cases[0]
    logs = []

    class Log(peers._Log):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            logs.append(self)

    monkeypatch.setattr(peers, "_Log", Log)
    found = peers.search(peer, "conditional", case.name, 2, 12)[case.name]
    assert found.shape == (2, 12)
    for seed, log in enumerate(logs):
        x = np.array(log.x)
        regrets = [float(gap(group, case, run(case.own, seed), row)) for row in jnp.asarray(x)]
        np.testing.assert_allclose(found[seed], np.minimum.accumulate(regrets), rtol=1e-6)
        own = {name: d for d, name in enumerate(group.space.names)}
        svm = x[:, own["model"]] == 0
        np.testing.assert_array_equal(~np.isnan(x[:, own["gamma"]]), svm)
        np.testing.assert_array_equal(~np.isnan(x[:, own["activation"]]), x[:, own["model"]] == 2)
        assert not np.isnan(x[:, own["seed_share"]]).any()


def test_settings():
    """Catches a setting that changes nothing, one combination twice, and a name that is none."""
    space = px.Space({"x": px.Float(0, 1)})
    for kind, counts in zip(suites.KINDS, ((1, 0), (1, 1), (2, 0)), strict=True):
        names = methods.settings(kind)
        assert names[0] == methods.OURS[kind][0] == "tpe"
        made = [repr(methods.sampler(name, space, *counts)) for name in names]
        assert len(set(made)) == len(names)
        assert {repr(methods.sampler(name, space, *counts)) for name in methods.TRIED[kind]} <= set(made)
    changed = methods.settings("one objective")
    for setting in methods.SETTINGS:
        assert any(name.startswith(f"tpe, {setting}=") for name in changed) == (
            setting not in methods.OF_OTHERS
        )
    with pytest.raises(KeyError):
        methods.sampler("tpe, top=1.5", space)


@pytest.mark.slow
def test_spread():
    """The farthest of what was drawn, pair by pair; other categories are 1 apart."""
    space = px.Space({"x": px.Float(0, 1), "c": px.Categorical(["a", "b"]), "k": px.Int(0, 4)})
    sampler, pool = px.tpe(space), points(px.Space({"x": px.Float(0, 1)}), 40)
    rows = np.stack([pool[:, 0], np.arange(40) % 2, np.arange(40) % 5], axis=1)
    state = sampler.tell(sampler.init(64), rows[:5], np.zeros(5))
    drawn = sampler.tell(sampler.init(64), rows, np.zeros(40)).points

    def at_random(key: jax.Array) -> px.space.Points:
        return drawn[jax.random.randint(key, (1,), 5, 40)]

    key = jax.random.key(1)
    asked = {int(jax.random.randint(own, (1,), 5, 40)[0]) for own in jax.random.split(key, 8)}
    apart = {
        i: min(
            (rows[i, 0] - x) ** 2 + (rows[i, 1] != c) + ((rows[i, 2] - k) / 5) ** 2 for x, c, k in rows[:5]
        )
        for i in asked
    }
    found = Spread(n_drawn=8)(key, state, at_random)
    best = max(apart, key=lambda i: apart[i])
    np.testing.assert_allclose(found.unit[0, 0], rows[best, 0], rtol=1e-6)
    assert found.index[0, 1:].tolist() == rows[best, 1:].tolist()


def test_holm():
    """Adjusted by hand; catches values above 1 and an order that is not kept."""
    np.testing.assert_allclose(scores.holm([0.01, 0.04, 0.03, 0.5]), [0.04, 0.09, 0.09, 0.5])
    assert scores.holm([0.6, 0.7]) == [1, 1]
    assert scores.holm([]) == []


def test_critical_difference():
    """Demsar (2006), Section 3.2.2: four classifiers, 14 data sets, 1.25."""
    assert scores.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def curves(shift: float, n_cases: int = 12, n_runs: int = 10) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    noise = rng.normal(scale=0.05, size=(n_cases, n_runs, 50))
    return {
        f"mixed/{i}": np.minimum.accumulate(np.exp(shift - 0.02 * np.arange(50) + own), axis=1)
        for i, own in enumerate(noise)
    }


def test_ranks_and_comparisons():
    """Catches ranks the wrong way round, and a test that sees nothing or the other direction."""
    found = {"a": curves(0.0, n_runs=20), "b": curves(1.0, n_runs=20), methods.RANDOM: curves(2.0)}
    cases = scores.shared(found)
    assert scores.ranks(found, cases, 50).mean(axis=1).tolist() == [1, 2, 3]
    scale = scores.typical(found[methods.RANDOM])
    result = scores.compare(found["a"], {"b": found["b"]}, scale, 50)["b"]
    assert (result.wins, result.losses) == (12, 0)
    assert result.ratio == pytest.approx(np.exp(-1), rel=1e-3)
    assert result.p == pytest.approx(scipy.stats.wilcoxon(np.arange(1.0, 13))[1])
    assert max(scores.worse(found["b"], found["a"], 50).values()) < 0.05
    assert min(scores.worse(found["a"], found["b"], 50).values()) > 0.9
    assert scores.worse(found["a"], found["a"], 50)["mixed/0"] == 1
    assert page.ahead(found, "b", [50]).count("2.7x") == 12
    assert "| a, of 12 problems | mixed/0, 2.7x; " in page.ahead(found, "b", [50])
    assert "| b, of 12 problems | none |" in page.ahead(found, "a", [50])


def test_pictures(tmp_path):
    """Lines of a few methods, ratios of dozens: catches some the wrong way round, styles that run out."""
    few = {"a": curves(0.0), "b": curves(1.0), methods.RANDOM: curves(2.0)}
    cases = {"mixed": scores.shared(few)}
    text = page.pictures(few, cases, 50, tmp_path / "page" / "few")
    assert "page/few/anytime.png" in text
    many = few | {f"b, x={i}": curves(1.0, n_runs=2) for i in range(25)}
    text = page.pictures(many, cases, 50, tmp_path / "page" / "many", "a")
    assert "page/many/worth.png" in text
    rows = (tmp_path / "page" / "many" / "worth.csv").read_text().splitlines()
    assert rows[0] == "suite,method,ratio,low,high"
    assert len(rows) == 27
    suite, method, ratio, low, high = rows[1].split(",")
    assert (suite, method) == ("mixed", "b")
    assert float(low) <= float(ratio) <= float(high)
    assert float(ratio) == pytest.approx(np.e, rel=0.05)


def test_verdict():
    """Catches a sampler that is no better than random search and passes."""
    good = {"tpe": curves(0.0), methods.RANDOM: curves(1.0)}
    assert no_better_than_random(good) == []
    bad = {"tpe": curves(1.0), "optuna_tpe": curves(0.0), methods.RANDOM: curves(0.5)}
    assert no_better_than_random(bad) == ["tpe"]
