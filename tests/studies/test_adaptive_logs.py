"""`benchmarks.studies.adaptive_logs`: its problems, what it reads in logs, and what it says of readings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.studies import adaptive_logs, adaptive_next, adaptive_problems, adaptive_readings
from benchmarks.studies import adaptive_searches as searches
from benchmarks.studies.adaptive_logs import NOISE
from benchmarks.studies.adaptive_problems import PROBLEMS
from benchmarks.studies.adaptive_scores import compare, gather
from benchmarks.studies.adaptive_searches import RANDOM, Logs

import parzax as px


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_last_parameter_does_nothing(name):
    """And of noise none does anything; of the others all active ones but the last do."""
    problem, key = PROBLEMS[name], jax.random.key(0)
    x = problem.space.sample(key, 40)
    losses = jax.vmap(problem, in_axes=(None, 0))(key, x)[0][:, 0]
    changed = []
    for j in range(x.shape[1]):
        active = ~jnp.isnan(x[:, j])
        moved = x.at[:, j].set(jnp.where(active, jnp.roll(x[:, j], 1), jnp.nan))
        # Rows whose gate has moved would need other children.
        same = jnp.nan_to_num(jax.vmap(problem, in_axes=(None, 0))(key, moved)[0][:, 0]) == losses
        changed.append(bool((~same & active).any()))
    assert changed == [name != NOISE] * (x.shape[1] - 1) + [False]


def test_true_shares_and_worth():
    """Of the sum of squares the worths are those of each term, unless the worst losses are cut off."""
    places = (np.arange(16) + 0.5) / 16
    weights, centers = [4.0, 2, 1, 0.5], [0.3, 0.6, 0.5, 0.2]
    terms = np.array([w * (places - c) ** 2 for w, c in zip(weights, centers, strict=True)])
    expected = [*(terms.mean(axis=1) - terms.min(axis=1)), 0]
    for worth in adaptive_problems.true_worth("quadratic"):
        np.testing.assert_allclose(worth, expected, atol=1e-5)
    lower = adaptive_problems.true_worth("quadratic", 1.0)[0]
    assert (lower <= np.array(expected) + 1e-6).all()
    assert lower[0] < 0.9 * expected[0]
    shares = adaptive_problems.true_shares("quadratic", n=1 << 12)
    assert shares.shape == (2, 5)
    assert shares[0, 0] > shares[0, 1] > 0.1 > shares[0, 4]


def test_random_search_is_read_rightly(tmp_path, monkeypatch):
    """Logs are made once; the surrogate knows the function, also from rows that were filled up."""
    monkeypatch.setattr(searches, "FOLDER", tmp_path)
    logs = Logs(RANDOM, "quadratic", 2, 40)
    log = searches.load(logs)
    monkeypatch.setattr(searches, "search", None)
    np.testing.assert_array_equal(searches.load(logs)["x"], log["x"])
    rows = adaptive_readings.read_rows(logs, (40, 100))
    assert log["x"].shape == (2, 40, 5)
    assert rows["40/rows"].shape == rows["40/above"].shape == (2, 2, 5)
    assert rows["40/f-ANOVA"].shape == rows["40/MDI"].shape == rows["40/PED-ANOVA"].shape == (2, 5)
    assert not rows["40/shown"].any()
    np.testing.assert_array_equal(rows["40/best"], log["loss"].min(axis=1))
    np.testing.assert_allclose(rows["40/f-ANOVA"].sum(axis=1), 1, rtol=1e-4)
    read = adaptive_readings.read_surrogate(logs, 1, (40, 100), effects=True)
    assert read.keys() == {"40/draws", "40/quality"}
    assert read["40/draws"].shape == (adaptive_readings.N_DRAWS, 2, 5)
    alone = px.surrogate.GaussianProcess().fit(
        PROBLEMS["quadratic"].space, *(np.asarray(log[name][1], float) for name in ("x", "loss"))
    )
    np.testing.assert_allclose(read["40/quality"], alone.quality, rtol=1e-5)
    assert alone.quality > 0.9


def test_rows_of_a_part_of_a_space():
    """Codes count the choices that are left, and rows outside the region are not in it."""
    space = px.Space({"a": px.Categorical(["x", "y", "z"]), "b": px.Float(0, 1)})
    choices = np.array([[True, False, True], [False] * 3])
    region = px.surrogate.Region(np.array([0, 0.25]), np.array([2, 0.5]), choices, space)
    x = np.array([[0, 0.3], [1, 0.3], [2, 0.5], [2, 0.6]])
    inside = adaptive_next._inside(region, x)
    assert inside.tolist() == [True, False, True, False]
    to_part, to_space = adaptive_next._recode(space, region.narrowed())
    np.testing.assert_array_equal(to_part(x[inside]), [[0, 0.3], [1, 0.5]])
    np.testing.assert_array_equal(to_space(to_part(x[inside])), x[inside])


def _made_up() -> dict[str, dict[str, np.ndarray]]:
    """What units leave of two logs, whose rows are 0.3 from the truth and whose surrogates 0.05."""
    shares = np.array([[0.5, 0.3, 0.1, 0.1, 0.0]] * 2)
    worth = np.array([4.0, 2, 1, 1, 0])
    away = np.array([-0.2, 0.2, 0, 0, 0])
    rows = np.stack([shares + away, shares + 2 * away])
    draws = np.stack([shares + away / 4 + step for step in np.linspace(-0.03, 0.03, 24)])
    of_rows = {
        "rows": rows,
        "above": np.array([[[0, 0, 0, 0, 1.0]] * 2, [[0.0] * 5] * 2]),
        "shown": np.array([1.0, 0]),
        "best": np.array([0.1, 0.3]),
        **dict.fromkeys(adaptive_readings.PEER_EVALUATORS, rows[:, 0]),
    }
    of_surrogate = {
        "draws": draws,
        "quality": np.array(0.8),
        "true_worth": worth,
        "true_target_worth": worth,
        "worth": worth + np.linspace(-1, 1, 24)[:, None],
        "target_worth": worth + np.linspace(1, 2, 24)[:, None],
    }
    found = {f"truth/{problem}": {"shares": shares} for problem in ("quadratic", "gated")}
    for searcher, sizes in {RANDOM: (40, 100), "px.tpe": (40,)}.items():
        for problem in ("quadratic", "gated", NOISE):
            kinds = {"rows": of_rows, "surrogate/0": of_surrogate, "surrogate/1": of_surrogate}
            for kind, part in kinds.items():
                arrays = {f"{n}/{name}": array for n in sizes for name, array in part.items()}
                found[f"{kind}/{searcher}/{problem}"] = arrays
    gaps = {"before": [0.2, 0.3], "old": [0.2, 0.2], "new": [0.1, 0.1]}
    found["next/slice"] = {"holds": np.array([1, 1.0]), "part": np.array([0.1, 0.3])} | {
        name: np.array(values) for name, values in gaps.items()
    }
    return found


def test_page():
    """Means over logs and problems, ratios beside the rows, and the verdicts at the top."""
    page = adaptive_logs.written(_made_up())
    text = "\n".join(page.blocks)
    assert (page.shape, page.failed) == ((2, 300), [])
    for line in (
        "| 40 | px.tpe | 0.17 | 0.17 | 0.17 | 0.17 |",
        "| 40 | quadratic | 0.05 | 0.30 | 0.30 | 0.30 | 0.30 | rows: 0.17 (0.13 to 0.25) |",
        "| px.tpe | 40 | 0.30 | 0.05 | 0.17 | quadratic: 0.17 (0.13 to 0.25) |",
        "| px.tpe | 40 | 60 % | 50 % | 60 % | 100 % |",
        "| px.tpe | 40 | 50 % | 0 % | 50 % | 100 % |",
        "| random search | quadratic | 100 % | 0 % |",
        "| slice | 2 | 100 % | 20 % | 0.2500 | 0.2000 | 0.1000 |",
        "| 40 trials: distance 0.75 of rows and PED-ANOVA, 0.85 of f-ANOVA and MDI | 0.17 of rows, "
        "0.17 of PED-ANOVA, 0.17 of f-ANOVA, 0.17 of MDI | yes |",
        "| 60 % to 60 % | **no** |",
        "| not measured |",
        "random search 2 (2 by a surrogate)",
        "Optuna CMA-ES, Hyperopt, Optuna GP.",
    ):
        assert line in text, line


def test_rows_answer_where_the_surrogate_predicts_nothing():
    """Their shares, and their p-values."""
    found = _made_up()
    surrogates = [found[f"surrogate/{i}/{RANDOM}/gated"] for i in (0, 1)]
    poor = surrogates[0] | {"40/quality": np.array(0.1)}
    logs = gather(
        RANDOM,
        "gated",
        40,
        found["truth/gated"]["shares"],
        found[f"rows/{RANDOM}/gated"],
        [poor, surrogates[1]],
    )
    np.testing.assert_allclose(logs.distances("surrogate"), [0.2, 0.05])
    assert logs.above_chance("surrogate").tolist() == [[True, True], [False, False]]
    ratio = compare([logs], type(logs).distances, "rows")
    np.testing.assert_allclose(ratio.value, 0.25 / 0.6)
    assert ratio.low <= ratio.value <= ratio.high <= 1
