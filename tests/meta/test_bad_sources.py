"""Sources that are none, empty, constant, of other spaces: named errors, or finite scores."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from samplers.tables import SPACE_OF, candidates, score_of, table, told

import parzax as px

NAN, INF = np.nan, np.inf
SPACE = SPACE_OF["categories"]
OTHER = px.Space({"u": px.Float(0, 1)})


def log(x, y, space: px.Space = SPACE, **options) -> px.Observations:
    return px.Observations.from_arrays(space, np.asarray(x, float), np.asarray(y, float), **options)


GOOD = log([[0, 0], [1, 2]], [1, 2])
REFUSED = {
    "no source": ([], {}, ValueError, "^sources must have at least one task"),
    "None": (None, {}, TypeError, "^sources must be a list.*NoneType"),
    "one log": (GOOD, {}, TypeError, "^sources must be a list.*one log per task.*Observations"),
    "an array": ([np.zeros((2, 2))], {}, TypeError, "^sources: 'task 1' must be .*ndarray; .*reads a study"),
    "another number of objectives": ([GOOD, log([[0, 0]], [[1, 2]])], {}, ValueError, "'task 2' has 2 objec"),
    "another number of constraints": (
        {"a": log([[0, 0]], [1], constraints=[[0.0, 1.0, 2.0]])}, {"n_constraints": 1}, ValueError,
        "'a' has 3 constraints.*1",
    ),
    "constraints that would not count": (
        {"a": log([[0, 0]], [1], constraints=[[0.0]])}, {"n_constraints": 0}, ValueError,
        "'a' has constraints, and n_constraints is 0",
    ),
    "seeds": ([log([[[0, 0]], [[1, 1]]], [[1], [2]])], {}, ValueError, "'task 1'.*one log per task"),
    "weights": ([log([[0, 0], [1, 1]], [1, 2], weight=[1, 0.5])], {}, ValueError, "'task 1' has weights"),
    "eta of 1": ([GOOD], {"eta": 1.0}, ValueError, "^eta must be above 1.*1.0"),
    "a number of good rows": ([GOOD], {"n_good": 3}, TypeError, "^n_good must be a rule of parzax.gamma.*3"),
    "eta of NaN": ([GOOD], {"eta": np.float32(NAN)}, ValueError, "^eta must be above 1.*nan"),
    "another estimate": ([GOOD], {"estimate": "exact"}, ValueError, "^estimate must be.*exact"),
    "one sample": ([GOOD], {"n_samples": 1}, ValueError, "^n_samples must.*1"),
    "no candidates": ([GOOD], {"max_candidates": 0}, ValueError, "^max_candidates must.*0"),
    "equal names": ({1: GOOD, "1": GOOD}, {}, ValueError, "^sources: two of the tasks .*same name"),
    "an unknown option": ([GOOD], {"quantile": 0.1}, TypeError, "quantile"),
    "a number as gamma": ([GOOD], {"gamma": 0.1}, TypeError, "gamma"),
}  # fmt: skip


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    sources, options, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        adjusted(px.papers.authors_meta_learn_tpe, **options)(SPACE, sources)
    if "max_candidates" in options:
        error, message = ValueError, "^max_candidates has no effect without task_weights"
    with pytest.raises(error, match=message):
        adjusted(px.meta_learn_tpe, **options)(SPACE, sources)


ACCEPTED = {
    "no row": log(np.zeros((1, 2)), [NAN]),
    "one row": log([[0, 1]], [3.0]),
    "constant losses": log([[0, 0], [1, 1], [0, 2], [1, 0]], [5, 5, 5, 5]),
    "one configuration": log([[1, 1]] * 6, [1, 2, 3, 4, 5, 6]),
    "failed rows": log([[0, 0], [1, 1], [0, 2]], [NAN, 1, INF]),
    "the best is -inf": log([[0, 0], [1, 1]], [-INF, 1]),
    "no shared parameter": log([[0.1], [0.2]], [1, 2], OTHER),
    "other choices": log(
        [[0, 1], [1, 0]], [1, 2], px.Space({"k": px.Categorical(["q", "b"]), "z": px.Categorical(["a", "w"])})
    ),
    "another kind": log([[0.3, 2]], [1], px.Space({"k": px.Float(0, 1), "z": px.Int(0, 3)})),
}


@eqx.filter_jit
def _ask(sampler, key, state):
    return sampler.ask(key, state, 3)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False])
def test_accepted(fresh, record_property):
    """Scores are finite and suggestions are of the space, before the first row and after 30."""
    at = jnp.asarray(candidates("categories"), jnp.float32)
    for name, source in ACCEPTED.items():
        sampler = adjusted(px.papers.authors_meta_learn_tpe, n_samples=50)(SPACE, {"s": source})
        state = told(sampler, table("categories", "none" if fresh else "random"))
        assert np.isfinite(score_of(sampler, state, at)).all(), name
        x = np.asarray(_ask(sampler, jax.random.key(0), state))
        assert np.isin(x[:, 0], [0, 1]).all(), name
        assert np.isin(x[:, 1], [0, 1, 2]).all(), name
    record_property("tried", f"sources: {len(ACCEPTED)} accepted, {len(REFUSED)} refused")


@pytest.mark.slow
def test_numbers_of_numpy():
    """The same sampler, and the same program, as with the number that it prints as."""
    make = partial(adjusted, px.papers.authors_meta_learn_tpe, n_samples=50)
    one, other = (make(eta=eta)(SPACE, [GOOD]) for eta in (2.5, np.float32(2.5)))
    assert eqx.tree_equal(one, other)
    np.testing.assert_array_equal(other.smoothing.sources.comparison.least, [3, 7][: len(SPACE)])


def test_reports():
    """What was not used is named."""
    said = adjusted(px.papers.authors_meta_learn_tpe, n_samples=50)(SPACE, ACCEPTED).smoothing.sources.report
    begin = px.meta_learn_tpe(SPACE, ACCEPTED).start.report
    assert [line.rsplit("; ", 1)[0] for line in begin] == [
        line.replace("; the prior stands for missing values", "") for line in said
    ]
    assert all(line.endswith(" to begin with") for line in begin)
    by_name = dict(zip(ACCEPTED, said, strict=True))
    assert by_name["no row"] == "no row: 0 rows"
    assert by_name["no shared parameter"].startswith("no shared parameter: 0 rows; no k, z; u not used")
    # What is outside is counted in the rows that are used.
    left_out = "other choices: 1 row; 1 row without a value that can be used left out"
    assert by_name["other choices"] == left_out
