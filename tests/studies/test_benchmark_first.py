"""Which rows of ``benchmarks.first`` are measured again, and which fail."""

import numpy as np
import pytest
from benchmarks import first

TASK = "Optuna sampler, longest wait"


@pytest.fixture
def measured(monkeypatch):
    """Lets a test say what every process takes, cold and warm in turn; the list loses what was used."""
    left: list[float] = []
    monkeypatch.setattr(first, "measure", lambda task, cache: left.pop(0))
    return left


def test_a_row_within_its_limit_is_measured_once(measured):
    measured += [6.0, 0.1, 5.0, 0.1]
    assert first.row(TASK, 1) == (6.0, 0.1)
    assert len(measured) == 2


def test_a_row_above_its_limit_is_measured_again(measured):
    cold, warm = (first.SLACK * 1.1 * (most or 0.0) for most in first.LIMITS[TASK].promised)
    measured += [cold, 0.1, 6.0, warm, 5.0, 0.1]
    assert first.row(TASK, 1) == (6.0, 0.1)
    assert not first.above(TASK, (6.0, 0.1))


def test_a_row_above_its_limit_at_every_try_fails(measured):
    cold = 2 * first.SLACK * first.LIMITS[TASK].promised[0]
    measured += [cold, 0.1] * 3
    found = first.row(TASK, 1)
    assert not measured
    assert found == (cold, 0.1)
    assert len(first.above(TASK, found)) == 1


def test_ahead_from_the_trial_after_the_last_one_behind():
    ours, theirs = np.array([3.0, 2.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    assert first.crossing(ours, theirs) == 3
    assert first.crossing(theirs, ours) == np.inf


@pytest.mark.parametrize("here", [0.5, 2.0])
def test_an_answer_that_takes_more_than_in_another_checkout_fails(here, monkeypatch, tmp_path, capsys):
    def seconds(task, cache, *, root, **settings):
        assert settings == {"PARZAX_NO_CACHE": "1"}
        return {"task": 1.0 if root == tmp_path else here}

    monkeypatch.setattr(first, "seconds", seconds)
    assert first.main(["--against", str(tmp_path), TASK]) == int(here > 1)
    assert f"{here:.2f}" in capsys.readouterr().out
