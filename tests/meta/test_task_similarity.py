"""`parzax.lens.similarity.task_similarity`: sums over all values, errors, what tasks lack."""

import functools

import numpy as np
import pandas as pd
import pytest
from benchmarks.settings import adjusted
from reference import meta as oracle

import parzax as px

SPACE = px.Space({"a": px.Categorical(range(4)), "b": px.Categorical(range(4))})
NAMES = ("low", "low again", "both", "high", "few")


@functools.cache
def logs() -> dict[str, px.Observations]:
    """The rows below of two tasks are the same; those of a third are some of them, those of two more none."""
    rng = np.random.default_rng(0)
    below = {
        "low": [[0, 0]] * 3 + [[1, 1]] * 5 + [[0, 1]] * 2,
        "low again": [[0, 1]] * 2 + [[0, 0]] * 3 + [[1, 1]] * 5,
        "both": [[0, 0]] * 2 + [[3, 3]] * 4 + [[1, 1]] * 4,
        "high": [[3, 2]] * 6 + [[3, 3]] * 4,
        "few": [[2, 0]] * 2,
    }
    out = {}
    for name, first in below.items():
        x = np.concatenate([first, rng.integers(0, 4, (9 * len(first), 2))])
        out[name] = px.Observations.from_arrays(SPACE, x.astype(float), np.arange(len(x), dtype=float))
    return out


def rows_below(log: px.Observations) -> np.ndarray:
    return log.values[: len(log.values) // 10]


def exact(columns=(0, 1)) -> np.ndarray:
    own = list(logs().values())
    return np.array(
        [[oracle.similarity(SPACE, rows_below(a), rows_below(b), columns) for b in own] for a in own]
    )


def variation_of(s: np.ndarray) -> np.ndarray:
    return (1 - s) / (1 + s)


@pytest.mark.parametrize("estimate", ["balanced", pytest.param("uniform", marks=pytest.mark.slow)])
def test_values_and_errors(estimate):
    """Within three of their standard errors; symmetric, and exact on the diagonal."""
    found = adjusted(px.lens.similarity.task_similarity, estimate=estimate, n_samples=4000)(logs())
    s = exact()
    assert found.names == NAMES
    assert found.parameters == ("a", "b")
    assert found.n_below.tolist() == [10, 10, 10, 10, 2]
    own = np.eye(5, dtype=bool)
    assert (np.abs(found.variation - variation_of(s)) <= 3 * found.error + 1e-6).all()
    limit = 0.5 / np.sqrt(4000) + 1e-3 if estimate == "balanced" else 0.1
    assert (found.error[~own] > 0).all()
    assert found.error.max() < limit
    np.testing.assert_array_equal(np.diag(found.error), 0)
    np.testing.assert_array_equal(np.diag(found.similarity), 1)
    np.testing.assert_allclose(found.similarity, (1 - found.variation) / (1 + found.variation), rtol=1e-6)
    for part in (found.similarity, found.variation, found.error):
        np.testing.assert_allclose(part, part.T, rtol=1e-6)
    assert found.similarity[0, 1] == pytest.approx(1, abs=1e-5)
    assert found.similarity[0, 3] == pytest.approx(0, abs=1e-5)


@pytest.mark.slow
def test_overlap():
    """The largest tenth of about 4000 points, some 250 on each of 16 configurations: whole configurations."""
    found = adjusted(px.lens.similarity.task_similarity, estimate="overlap", n_samples=4000)(logs())
    best = [{(1, 1)}] * 2 + [{(1, 1), (3, 3)}, {(3, 2)}, {(2, 0)}]  # and the next, until 400 points are in
    second = [{(0, 0)}] * 2 + [set(), {(3, 3)}, set()]
    sets = [a | b for a, b in zip(best, second, strict=True)]
    wanted = [[len(a & b) / len(a | b) for b in sets] for a in sets]
    np.testing.assert_allclose(found.similarity, wanted, atol=0.05)
    own = np.eye(5, dtype=bool)
    assert np.isnan(found.variation[~own]).all()
    assert np.isnan(found.error[~own]).all()
    # Disjoint tasks in a space of which few configurations are drawn.
    space = px.Space({f"c{j}": px.Categorical(range(4)) for j in range(5)})
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 2, (20, 5)) + 2.0 * k for k in (0, 1)]
    apart = [px.Observations.from_arrays(space, x, np.arange(20.0)) for x in rows]
    assert adjusted(px.lens.similarity.task_similarity, estimate="overlap")(apart).similarity[0, 1] == 0


def test_most_important_parameters():
    """Two rows below in a task keep one parameter, which is the most important one of all on average."""
    found = adjusted(px.lens.similarity.task_similarity, eta=2, n_samples=4000)(logs())
    mean = np.mean(
        [
            oracle.importance(SPACE, log.values, range(len(log.values) // 10), range(len(log.values)))
            for log in logs().values()
        ],
        axis=0,
    )
    j = int(np.argmax(mean))
    assert found.parameters == (SPACE.names[j],)
    assert (np.abs(found.variation - variation_of(exact((j,)))) <= 3 * found.error + 1e-6).all()


def test_number_of_parameters_by_the_task_with_the_fewest_rows_below():
    """Four rows below keep floor(log2 4) = 2 parameters: catches a number that is always one."""
    found = adjusted(px.lens.similarity.task_similarity, eta=2, gamma=px.gamma.Linear(0.2), n_samples=4000)(
        logs()
    )
    assert found.n_below.min() == 4
    assert found.parameters == SPACE.names


def test_order_of_tasks():
    one = adjusted(px.lens.similarity.task_similarity, n_samples=4000)(list(logs().values()))
    back = adjusted(px.lens.similarity.task_similarity, n_samples=4000)(list(logs().values())[::-1])
    np.testing.assert_allclose(one.similarity, back.similarity[::-1, ::-1], atol=1e-6)
    np.testing.assert_allclose(one.error, back.error[::-1, ::-1], atol=1e-6)
    assert one.names[0] == "task 1"


@pytest.mark.slow
def test_tasks_without_rows_below():
    """Like nothing else, and no hindrance to the others."""
    nothing = px.Observations.from_arrays(SPACE, np.zeros((3, 2)), np.full(3, np.nan))
    for eta in (None, 2):
        found = adjusted(px.lens.similarity.task_similarity, eta=eta, n_samples=4000)(
            logs() | {"nothing": nothing}
        )
        without = adjusted(px.lens.similarity.task_similarity, eta=eta, n_samples=4000)(logs())
        np.testing.assert_array_equal(found.similarity[5], [0, 0, 0, 0, 0, 1])
        np.testing.assert_array_equal(found.variation[5], [1, 1, 1, 1, 1, 0])
        assert found.n_below[5] == 0
        np.testing.assert_allclose(found.similarity[:5, :5], without.similarity, atol=1e-6)


@pytest.mark.slow
def test_a_given_space():
    """Tasks are compared by its parameters alone."""
    only = px.Space({"b": px.Categorical(range(4))})
    found = adjusted(px.lens.similarity.task_similarity, n_samples=4000)(logs(), only)
    assert found.parameters == ("b",)
    assert (np.abs(found.variation - variation_of(exact((1,)))) <= 3 * found.error + 1e-6).all()
    assert "a not used" in found.report[0]


# --- tasks that do not say when a parameter is active -------------------------------------------


KIND = px.Categorical(["a", "b", "c"])
REMEDIES = {
    "conditions": {"kind": KIND, "x": px.Float(0, 1, when=px.In("kind", ["a", "b"]))},
    "none": {"kind": KIND, "x": px.Float(0, 1)},
    "without": {"kind": KIND},
}


@pytest.mark.parametrize(
    "remedy", ["without", *(pytest.param(r, marks=pytest.mark.slow) for r in ("none", "conditions"))]
)
def test_a_table_with_empty_cells(remedy):
    """A space with conditions, or with none, or without the parameter, as the message says."""
    x = np.where(np.arange(40) % 4 == 2, np.nan, np.random.default_rng(0).random(40))
    table = {"task": ["u", "v"] * 20, "kind": ["a", "b", "c", "a"] * 10, "x": x, "loss": range(40)}
    logs = px.Observations.by_task(pd.DataFrame(table), "task", "loss", warn=False)
    with pytest.raises(ValueError, match=r"^space: 'x' is active where the log says so"):
        px.lens.similarity.task_similarity(logs)
    found = adjusted(px.lens.similarity.task_similarity, n_samples=100)(logs, px.Space(REMEDIES[remedy]))
    assert found.names == ("u", "v")
    assert found.parameters == tuple(REMEDIES[remedy])
    assert 0 < found.similarity[0, 1] < 1


def test_no_task():
    with pytest.raises(ValueError, match=r"^tasks must have at least one task\."):
        px.lens.similarity.task_similarity([])


@pytest.mark.parametrize(
    "estimate",
    [
        pytest.param("balanced", marks=pytest.mark.slow),
        "uniform",
        pytest.param("overlap", marks=pytest.mark.slow),
    ],
)
def test_parameters_that_a_task_lacks(estimate):
    """Catches a task held against what another has beyond it: the same rows without a column are alike."""
    x = logs()["low"].values
    y, a, b = np.arange(float(len(x))), px.Space({"a": SPACE["a"]}), px.Space({"b": SPACE["b"]})
    parts = {"both": (SPACE, x), "a": (a, x[:, :1]), "b": (b, x[:, 1:])}
    parts |= {f"{name} again": parts[name] for name in ("both", "a")}
    tasks = {name: px.Observations.from_arrays(*part, y) for name, part in parts.items()}
    found = adjusted(px.lens.similarity.task_similarity, estimate=estimate, n_samples=4000)(tasks, SPACE)
    assert np.allclose(found.similarity[0], 1, atol=1e-5)
    assert np.array_equal(found.similarity, found.similarity.T)
    assert found.similarity[1, 2] == 0
    if estimate != "overlap":
        assert found.variation[1, 2] == 1


@pytest.mark.slow
def test_similarity_of_sets():
    """Theorem 2: the best tenths' overlap over their union, if bandwidths shrink with more rows."""
    space = px.Space({"u": px.Float(0, 1)})
    x = [np.random.default_rng(seed).uniform(size=(3200, 1)) for seed in (0, 1)]
    # The best tenths are [0.4, 0.5] and [0.45, 0.55].
    pairs = zip(x, (0.45, 0.5), strict=True)
    tasks = [px.Observations.from_arrays(space, y, abs(y[:, 0] - centre)) for y, centre in pairs]

    def similarity(least: float) -> float:
        bandwidth = px.bandwidth.Scott(least)
        compare = adjusted(px.lens.similarity.task_similarity, bandwidth=bandwidth, n_samples=4000)
        return float(compare(tasks).similarity[0, 1])

    assert abs(similarity(1e-4) - 1 / 3) < 0.03
    assert similarity(0.1) > 0.6
