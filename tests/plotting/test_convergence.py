"""Best feasible value against evaluations: what is drawn of which run, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parzax.lens.plotting import convergence

from .reading import below, in_legend, legend
from .runs import trace

# Five runs of four evaluations; in the last two nothing is feasible until the third, or ever.
LOSS = np.array([[4, 5, 1, 2], [3, 2, 2, 9], [8, 6, 7, 5], [9, 9, 3, 3], [1, 1, 1, 1]], float)
LIMIT = np.where(LOSS == LOSS, -1.0, 1.0)
LIMIT[3, :2] = 1
LIMIT[4] = 1
FIVE = trace(LOSS, LIMIT)


def best_by_hand(loss, limit):
    """(s, n) least feasible loss so far, in loops."""
    out = np.full(loss.shape, np.inf)
    for i, (values, limits) in enumerate(zip(loss, limit, strict=True)):
        least = np.inf
        for j, (value, own) in enumerate(zip(values, limits, strict=True)):
            if own <= 0 and value < least:
                least = value
            out[i, j] = least
    return out


def band(ax):
    """Lower and upper ends of the first band at every evaluation where it is drawn."""
    corners = ax.collections[0].get_paths()[0].vertices
    return {x: (corners[corners[:, 0] == x][:, 1].min(), corners[corners[:, 0] == x][:, 1].max())
            for x in np.unique(corners[:, 0])}  # fmt: skip


def test_the_median_and_the_quartiles_of_five_runs():
    # Catches infeasible rows that count, a mean for a median, quartiles over the wrong axis.
    ax = convergence(FIVE)
    expected = np.sort(best_by_hand(LOSS, LIMIT), axis=0)
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, [1, 2, 3, 4])
    np.testing.assert_array_equal(y, expected[2])  # the third of five
    np.testing.assert_array_equal(y, np.sort(np.asarray(FIVE.best_losses()), axis=0)[2])
    assert band(ax)[3.0][0] == expected[1, 2]
    assert ax.get_ylabel() == "best feasible value\n(median and quartiles of 5 runs)"
    assert in_legend(ax) == ["nothing feasible in 1 of 5 runs"]


def test_an_infinite_upper_quartile_opens_the_band_to_the_top():
    # Catches NaN from interpolating infinities: the band would vanish where it is widest.
    ax = convergence(FIVE)
    assert band(ax)[1.0][1] == pytest.approx(ax.get_ylim()[1])
    assert band(ax)[4.0][1] < ax.get_ylim()[1]


def test_a_line_begins_where_half_of_the_runs_have_a_feasible_row():
    # Catches a median of few lucky runs drawn as that of all.
    limit = np.ones((3, 4))
    limit[0], limit[1, 2:] = -1, -1
    ax = convergence({"a": trace(LOSS[:3], limit)})
    (line,) = ax.lines
    np.testing.assert_array_equal(np.isnan(line.get_ydata()), [True, True, False, False])
    assert in_legend(ax) == ["a: nothing feasible in 1 of 3 runs"]


def test_several_samplers_by_name_and_by_last_value():
    # Catches a legend in another order than the lines end, and dollar signs read as formulas.
    ax = convergence(
        {"good": trace(LOSS[:2]), "$bad$": trace(LOSS[:2] + 9), "none": trace(LOSS[:1], [[1.0] * 4])}
    )
    assert in_legend(ax) == ["none: nothing feasible in 1 of 1 run", r"\$bad\$", "good"]
    assert len({line.get_color() for line in ax.lines}) == 3
    assert ax.get_ylabel().endswith("(median and quartiles of 1-2 runs)")
    handles = dict(zip(in_legend(ax), legend(ax).legend_handles, strict=True))
    drawn = {line.get_label(): line.get_color() for line in ax.lines}
    assert handles["good"].get_color() == drawn["good"]


def test_an_optimum_is_subtracted_on_a_log_axis():
    # Catches a regret of 0 lost from the picture: it stands at the lower edge, and the key says so.
    ax = convergence(trace([[3.0, 2, 1]]), optimum=np.array([1.0]))
    assert ax.get_yscale() == "log"
    y = ax.lines[0].get_ydata()
    assert y[:2].tolist() == [2, 1]
    assert y[2] == ax.get_ylim()[0] < 1
    assert ax.get_ylabel() == "|best value - optimum|"
    assert below(ax) == ["0 is at the lower edge"]
    assert convergence(trace([[3.0, 2, 1]]), optimum=0.5, log=False).get_yscale() == "linear"
    # Rounding in float32 is no error.
    convergence(trace([[3.0, 0.9999999]]), optimum=1.0)


def test_the_objective_is_chosen():
    two = trace(np.stack([LOSS, -LOSS], axis=-1))
    y = convergence(two, objective=1, optimum=[0, -9]).lines[0].get_ydata()
    assert y[0] == np.median(9 - LOSS[:, 0])


def test_what_is_maximised_rises():
    # Catches the worst value drawn as the best, and a band that is open on the wrong side.
    ax = convergence(trace(-LOSS, LIMIT, direction="maximize"))
    mirrored = convergence(FIVE)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), -mirrored.lines[0].get_ydata())
    assert band(ax)[1.0][0] == pytest.approx(ax.get_ylim()[0])
    regret = [convergence(runs, optimum=best).lines[0].get_ydata()
              for runs, best in ((trace(-LOSS, LIMIT, direction="maximize"), -0.5), (FIVE, 0.5))]  # fmt: skip
    np.testing.assert_array_equal(*regret)
    with pytest.raises(ValueError, match="optimum = -2 is below the largest feasible value, -1"):
        convergence(trace(-LOSS, LIMIT, direction="maximize"), optimum=-2)


@pytest.mark.parametrize(
    "runs",
    [
        trace(np.zeros((0, 4))),
        trace(np.zeros((3, 0))),
        trace(LOSS, np.ones(LOSS.shape)),
        trace(np.full((2, 3), np.nan)),
    ],
)
def test_nothing_to_draw_is_said(runs):
    ax = convergence({"a": runs})
    assert [text.get_text() for text in ax.texts] == ["No run has a feasible row."]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"traces": {}}, ValueError, "traces must hold"),
        ({"traces": LOSS}, TypeError, r"traces must be a parzax.samplers.Trace"),
        ({"traces": {"a": FIVE, "b": 3}}, TypeError, r"traces\['b'\] must be"),
        ({"objective": 1}, ValueError, "objective must be a whole number from 0 to 0"),
        ({"objective": True}, ValueError, "objective must be"),
        ({"optimum": 4.0}, ValueError, "optimum = 4 is above the least feasible value, 1"),
        ({"optimum": np.nan}, ValueError, "optimum must be finite"),
        ({"optimum": [1.0, 2.0]}, ValueError, "optimum must be a number, or one per objective"),
        ({"traces": trace([[1.0, -1]]), "log": True}, ValueError, "log: there are values of -1"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        convergence(**{"traces": FIVE, **arguments})
    assert not plt.get_fignums(), "a refused call must not leave an empty figure"


def test_a_line_that_would_be_flat_is_drawn_as_the_distance_to_the_best_run():
    """On a log axis, for either direction; not if an axis is asked for, nor while the line still falls."""
    n = np.arange(40)
    fast, slow = 3 + 10.0 ** (-n / 5), 43.0 - n
    for sign, direction in ((1, "minimize"), (-1, "maximize")):
        runs = {"a": trace(sign * np.stack([fast, fast + 1e-3]), direction=direction)}
        ax = convergence(runs)
        best = fast[-1]
        assert ax.get_yscale() == "log"
        assert ax.get_ylabel().startswith(f"|best value - {sign * best:.4g}|, the best of all runs")
        np.testing.assert_allclose(ax.lines[0].get_ydata()[:39], (fast + 5e-4 - best)[:39], rtol=1e-6)
        assert convergence(runs, log=False).get_ylabel().startswith("best value")
    assert convergence(trace(slow[None])).get_yscale() == "linear"
