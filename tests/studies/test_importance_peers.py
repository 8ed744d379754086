"""Truths of `benchmarks.studies.importance_peers` beside loops, and its page of made-up answers."""

from itertools import permutations, product

import numpy as np
import pytest
from benchmarks.studies import importance_peers as study
from benchmarks.studies import importance_truths as truths
from benchmarks.studies.adaptive_searches import RANDOM


def _variance(values):
    values = list(values)
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def test_truth_of_a_conditional_problem():
    """Every share by loops over configurations: catches a wrong axis, weight, regime or threshold."""
    middle = 2
    axes = [range(2), *[range(5)] * 3, range(1)]

    def loss(gate, first, second, always, _idle):
        x, y, z = ((number + 0.5) / 5 for number in (first, second, always))
        return (2 * (x - 0.3) ** 2 if gate == 0 else 0.2 + 2 * (y - 0.7) ** 2) + 0.3 * (z - 0.5) ** 2

    rows = list(product(*axes))
    losses = {row: loss(*row) for row in rows}

    def mean_given(values, kept):
        groups: dict = {}
        for row in rows:
            groups.setdefault(tuple(row[i] for i in kept), []).append(values[row])
        return [sum(group) / len(group) for group in groups.values()]

    def explained(kept):
        return _variance(mean_given(losses, kept))

    def around(kept):
        default = (0, middle, middle, middle, 0)
        return _variance(losses[tuple(row[i] if i in kept else default[i] for i in range(5))] for row in rows)

    def shapley(value):
        gains = np.zeros(5)
        for order in permutations(range(5)):
            for i, player in enumerate(order):
                gains[player] += value(sorted(order[: i + 1])) - value(sorted(order[:i]))
        return gains

    cut = sorted(losses.values())[int(np.ceil(0.1 * len(rows))) - 1]
    within = []
    for axis in range(5):
        here = [row for row in rows if axis not in (1, 2) or row[0] == axis - 1]
        groups: dict = {}
        for row in here:
            groups.setdefault(row[axis], []).append(losses[row] <= cut)
        within.append(len(here) / len(rows) * _variance(np.mean(group) for group in groups.values()))
    expected = {
        truths.FIRST: [explained([axis]) for axis in range(5)],
        truths.TOTAL: [
            explained(range(5)) - explained([i for i in range(5) if i != axis]) for axis in range(5)
        ],
        truths.SHAPLEY: shapley(explained),
        truths.DEFAULT: shapley(around),
        truths.TARGET: within,
    }
    found = truths.read_truth("conditional", n_values=5)
    for question, values in expected.items():
        np.testing.assert_allclose(
            found[question], np.maximum(values, 0) / np.sum(np.maximum(values, 0)), rtol=1e-9
        )
    # Two values of x, and a loss that is x: the distribution given x is a half of that without.
    np.testing.assert_allclose(truths.total_variations(np.repeat([[0.0], [1.0]], 3, axis=1)), [0.5, 0])


@pytest.mark.slow
def test_readings_and_page(monkeypatch, tmp_path):
    """The quick study: answers of all tools that are installed here, and a page with every part."""
    monkeypatch.setattr("benchmarks.studies.adaptive_searches.FOLDER", tmp_path)
    found = {}
    for unit in study.units(quick=True):
        reader = (
            truths.read_truth
            if unit.name.startswith("truth")
            else getattr(study, unit.function.split(":")[1])
        )
        found[unit.name] = reader(**unit.arguments)
    page = study.written(found)
    text = "\n".join(page.blocks)
    assert page.shape == (2, 300)
    for tool in (study.AUTOMATIC, study.ROWS, study.SURROGATE, *study.OPTUNA):
        assert any(tool in tools for tools in study.Answers(found).shares.values()), tool
        assert f"| {tool} |" in text
    answers = study.Answers(found)
    case = study.Case("conditional", RANDOM, 40)
    assert answers.errors(truths.TARGET, study.SURROGATE, case).max() < 0.1
    assert answers.errors(truths.SHAPLEY, study.SURROGATE, case).max() < 0.05


def test_behind():
    """A tool is behind where another is nearer in every log, and is not where they take turns."""
    truth = {question: np.array([0.5, 0.5]) for question in study.QUESTIONS}
    near, far = np.array([[0.5, 0.5]] * 4), np.array([[0.9, 0.1]] * 4)
    name = f"ours/{RANDOM}/cells"
    turns = np.where(np.arange(4)[:, None] % 2, near, far)
    keys = {study.SURROGATE: far, "near": near, "turns": turns}
    arrays = {f"40/{tool}/{truths.TARGET}": rows for tool, rows in keys.items()}
    answers = study.Answers({"truth/cells": truth, name: arrays})
    assert answers.behind(truths.TARGET, study.SURROGATE, ["near"]) == (
        1, [f"cells, 40 of {RANDOM}: 0.40, near 0.00"],
    )  # fmt: skip
    assert answers.behind(truths.TARGET, "turns", ["turns"]) == (1, [])
    assert answers.behind(truths.TARGET, "near", [study.SURROGATE]) == (1, [])
