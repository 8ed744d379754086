"""What a page says: its numbers and sentences are those of the result."""

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import OPTUNA

import parzax as px
from page import logs
from parzax.lens.logs.report import LEARNED
from parzax.lens.page.content import content
from parzax.lens.page.numbers import numbers
from parzax.lens.page.words import level_words
from parzax.lens.tables.objectives import find_directions
from parzax.status import Status

ROUNDING = 5.1e-5  # four decimals


class Texts(HTMLParser):
    """The text of every element with an id, and of all list items."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids, self.items, self._open = {}, [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "input", "br", "img"):
            self._open.append((tag, dict(attrs).get("id"), []))

    def handle_data(self, data):
        for _, _, parts in self._open:
            parts.append(data)

    def handle_endtag(self, tag):
        name, own, parts = self._open.pop()
        assert name == tag, "elements are nested"
        text = " ".join("".join(parts).split())
        if own:
            self.ids[own] = text
        if tag in ("li", "pre", "dd"):
            self.items.append(text)


def page(tmp_path, source, **options) -> str:
    path = tmp_path / "page.html"
    px.report(source, path, **options)
    return path.read_text(encoding="utf-8")


def data_of(html: str) -> dict:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', html).group(1))


def made(own, interactions=None, most=40):
    return SimpleNamespace(**content(own, interactions, most))


def by_name(data: dict, key: str, names) -> np.ndarray:
    """(q, d) numbers of the page in the order of the space."""
    at = [data["labels"].index(name) for name in names]
    return np.array(data[key], float)[:, at]


@pytest.mark.parametrize("n_seeds", [None, 4])
def test_numbers(tmp_path, n_seeds):
    """Catches levels, parameters or seeds in another order: they differ in every number."""
    own = logs.result(n_seeds)
    mean, error = own.over_seeds()
    data = data_of(page(tmp_path, own))
    np.testing.assert_allclose(data["levels"], own.levels)
    np.testing.assert_allclose(by_name(data, "mean", own.names), mean, atol=ROUNDING)
    if n_seeds is None:
        assert all(x is None for key in ("low", "high") for row in data[key] for x in row)
    else:
        # What is not above chance has no standard error beside it that would leave 0 out.
        chance = own.share_of_seeds(Status.NOT_ABOVE_CHANCE) >= 0.5
        for end, wanted in (("low", mean - error), ("high", mean + error)):
            wanted = np.where(chance, np.nan, wanted)
            np.testing.assert_allclose(by_name(data, end, own.names), wanted, atol=2 * ROUNDING)


def test_levels_ascend(tmp_path):
    """A result whose levels fall gives the same page as one whose levels rise."""
    falling = px.cond_ped_anova(logs.activation(), logs.LEVELS[::-1])
    assert page(tmp_path, falling) == page(tmp_path, logs.result())


def test_observations_as_results(tmp_path):
    """From observations with options, and from the result that these give; one level has no slider."""
    options = {"region": 0.8, "estimator": OPTUNA}
    result = px.cond_ped_anova(logs.activation(), 0.1, **options)
    alone = {"levels": 0.1, "interactions": False, "n_resamples": 0}
    html = page(tmp_path, logs.activation(), **alone, **options)
    assert html == page(tmp_path, result)
    texts = Texts(html)
    assert "optuna" in texts.items
    assert texts.ids["label"] == "best 10 % (γ′ = 0.1) within the best 80 %: 20 of 160 rows"
    assert 'id="slider"' not in html
    assert 'id="curves"' not in html
    assert data_of(html)["start"] == 0


def test_levels_by_default(tmp_path, monkeypatch):
    """0.02 to 0.98, below the region's; catches levels that `cond_ped_anova` would refuse."""
    asked = []

    def record(obs, levels, **options):
        asked.append(levels)
        return logs.result()

    monkeypatch.setattr(sys.modules["parzax.lens.page.report"], "cond_ped_anova", record)
    for options in ({}, {"region": 0.3}):
        page(tmp_path, logs.activation(), interactions=False, **options)
    np.testing.assert_allclose(asked[0], np.arange(1, 50) / 50)
    np.testing.assert_allclose(asked[1], np.arange(1, 15) / 50)


def test_words(tmp_path):
    """The sentences name what is most important, at the level nearest to 0.1, and the rows."""
    own = logs.result()
    texts = Texts(page(tmp_path, own))
    first = own.ranking(0)[0]
    share = f"{own.importance[0].max():.2f}"  # with few rows in a regime
    assert texts.ids["headline"] == "The summary above is about this level."
    assert f"{first} (importance {share}) matters most" in texts.ids["short"]
    assert "best 10 % (20 rows, smallest objective value)" in texts.ids["short"]
    assert texts.ids["label"] == "best 10 % (γ′ = 0.1): 20 of 200 rows"
    assert "No test against chance was made" in texts.ids["chance-words"]
    assert ("noise" in texts.ids["chance-words"]) == bool(
        own.status[0, own.names.index("noise")] & Status.NOT_ABOVE_CHANCE
    )


def test_a_direction_that_nobody_gave_comes_first():
    """Catches a page that shows the worst values of an accuracy as good without a word in its summary."""
    own = logs.result()
    for target, expected in (
        ("Value", "Smaller is taken as better, as no direction was given"),
        ("loss", "For"),
    ):
        _, notes = find_directions([target])
        doubtful = dataclasses.replace(own, report=dataclasses.replace(own.report, inferred=tuple(notes)))
        page = made(doubtful)
        assert page.summary[0].startswith(expected)
        assert sorted(page.data["short"]) == ["c", "noise", "x"]


def test_good_values(tmp_path):
    """At every level those of the result, with their shares; regimes by their own domains."""
    own = logs.result()
    found = made(own)
    for i in range(len(logs.LEVELS)):
        for good in own.good_values(i):
            (of,) = [
                of
                for regimes in found.values
                for _, of in regimes
                if (own.names[of.parameter], of.regime) == (good.parameter, good.regime)
            ]
            if round(good.target, 2) == round(good.region, 2):
                assert of.texts[i].startswith("nothing stands out")
                continue
            low, high = good.values
            text = f"{low:.4g} to {high:.4g} ({100 * round(good.target, 2):g}\N{NO-BREAK SPACE}% of the "
            assert of.good[i].startswith(text)
            some = own.space[good.parameter][0].conditions
            assert of.good[i].endswith("% of all such rows)" if some else "% of all)")
    assert [
        of.caption for regimes in found.values for _, of in regimes if own.names[of.parameter] == "x"
    ] == [
        "[-5, -2] if c < 0.5",
        "[2, 5] if c ≥ 0.5",
    ]


def test_pictures_are_densities():
    """Masses in units of 1 / 5000, the target's at each level."""
    own = logs.result()
    found = made(own)
    for number, of in [pair for regimes in found.values for pair in regimes]:
        density = own.density(own.names[of.parameter])[of.regime]
        if (picture := found.data["pictures"][number]) is not None:
            np.testing.assert_allclose(np.array(picture["target"]) / 5000, density.target, atol=1.01e-4)
            np.testing.assert_allclose(np.array(picture["region"]) / 5000, density.region[0], atol=1.01e-4)


def test_uncertainty():
    """Intervals, adjusted p-values, the top 3, verdicts and chance come from ``result.uncertainty``."""
    own = logs.with_uncertainty(logs.result())
    fake, found = own.uncertainty, made(own)
    names = own.names
    np.testing.assert_allclose(
        by_name(found.data, "low", names), fake.importance_interval[..., 0], atol=ROUNDING
    )
    np.testing.assert_allclose(
        by_name(found.data, "high", names), fake.importance_interval[..., 1], atol=ROUNDING
    )
    titles = [title for title, _ in found.columns]
    assert titles[:4] == ["importance", "90 % interval", "p", "top 3"]
    for i in range(len(logs.LEVELS)):
        for label, cells in zip(found.data["labels"], found.data["cells"][i], strict=True):
            j = names.index(label)
            p, at_most = fake.p_adjusted[i, j], fake.p_value[i, j] < 1.5 / 1000
            assert cells[2] == (f"{'≤' * int(at_most)}{p:.3f}" if p >= 0.001 else "<0.001")
            share = f"{100 * round(1 - fake.p_value[i, j], 2):g}\N{NO-BREAK SPACE}%"
            assert cells[3] == (share if fake.above_chance[i, j] else "–")
        pale = by_name(found.data, "pale", names)[i]
        assert (pale == ~fake.above_chance[i] | (by_name(found.data, "mean", names)[i] == 0)).all()
        said = f"Verdict {i} <i>: enough rows." in found.data["words"][i]["notes"]
        assert said == (i > 0)  # of the opening level in the summary
    (sure,) = [text for text in found.summary if text.startswith("How sure? ")]
    # The share of x is the largest and may be chance, so that it does not come first.
    assert not own.uncertainty.above_chance[0, 1]
    assert sure == "How sure? Verdict 0 <i>: enough rows."


def test_interactions():
    """Each level shows the nearest one of the interactions; pairs by their names, not by their places."""
    own = logs.result()
    fake = logs.fake_interactions(own, np.array([0.1, 0.6]))
    data = made(own, fake).data
    assert data["pairs"]["level"] == [0, 0, 1, 1]
    for i, q in enumerate((0, 1)):
        shown = {
            frozenset(data["labels"][row] for row in pair): value
            for pair, value in zip(data["pairs"]["pairs"], data["pairs"]["importance"][i], strict=True)
        }
        for pair, value in zip(fake.pairs, fake.importance[q], strict=True):
            assert shown[frozenset(pair)] == pytest.approx(max(value, 0), abs=ROUNDING)
    assert made(own).data["pairs"] is None


def activation_with(n_ranked, n_seeds=None):
    """The log with so many rows that have a loss, in the shapes of ``logs.result``."""
    obs = logs.activation(n_seeds)
    return dataclasses.replace(obs, losses=np.where(np.arange(obs.n)[:, None] < n_ranked, obs.losses, np.nan))


@pytest.mark.parametrize(("n_ranked", "level"), [(200, 0.1), (60, 0.3), (10, 0.5)])
def test_a_page_of_few_rows_opens_where_there_are_more_than_ten(n_ranked, level):
    """Of 60 trials a tenth are 6: it opens at the nearest level that has 11, or at half if none has."""
    found = numbers(px.cond_ped_anova(activation_with(n_ranked), logs.LEVELS))
    assert logs.LEVELS[found.default] == level


def test_the_usual_level_of_several_seeds_is_one_for_all():
    """One bad seed of four rules no level out, neither of the page nor of the command line."""
    obs = activation_with(60, n_seeds=4)
    obs.losses[0, 1:] = np.nan
    result = px.cond_ped_anova(obs, logs.LEVELS)
    found = result.usual_level
    assert found == numbers(result).default
    assert logs.LEVELS[found] == 0.3


def test_what_is_compared_all_the_same_is_not_said_to_be_0():
    """Optuna's estimator gives labels of their own an importance."""
    rng = np.random.default_rng(0)
    space = px.Space({"x": px.Float(0, 1), "id": px.Categorical([str(i) for i in range(60)])})
    values = np.stack([rng.uniform(size=60), np.arange(60.0)], axis=-1)
    obs = px.Observations.from_arrays(space, values, values[:, 0])
    result = logs.with_uncertainty(px.cond_ped_anova(obs, 0.3, **OPTUNA))
    result.uncertainty.above_chance = np.array([[True, False]])
    own = numbers(result)
    assert own.mean[0, 1] > 0
    assert own.chance[0].tolist() == [False, True]
    assert level_words(result, own, result.names)[0]["chance"].endswith("1 of 2: id.")


def test_what_counts_as_0_is_pale_and_said():
    """What is not compared is neither above chance nor below: it has no colour, and is named beside others.

    A parameter that is inactive in all of the target, and one with a single value, which has no p-value.
    """
    rng = np.random.default_rng(2)
    space = px.Space(
        {
            "c": px.Categorical(["a", "b"]),
            "x": px.Float(0, 1, when=px.In("c", ["b"])),
            "fixed": px.Float(3, 3),
            "noise": px.Float(0, 1),
        }
    )
    c, x, noise = rng.integers(0, 2, 200), rng.uniform(size=200), rng.uniform(size=200)
    values = np.stack([c, np.where(c == 1, x, np.nan), np.full(200, 3.0), noise], axis=-1)
    obs = px.Observations.from_arrays(space, values, c + x)
    result = px.cond_ped_anova(obs, 0.1, n_shuffles=99)
    own = numbers(result)
    assert own.chance[0].tolist() == [False, False, False, True]
    assert own.pale[0].tolist() == [False, True, True, True]
    words = level_words(result, own, result.names)[0]["chance"]
    assert words.endswith(
        "Not compared, and counted as 0: x (inactive in the target), fixed (one value per regime)."
    )
    data = made(result).data
    assert data["cells"][0][data["labels"].index("fixed")][-1] == "one value per regime"


def test_pairs_above_chance_come_first():
    """By importance at each level, then three others, then how many more; ≤ where no draw came near."""
    own = logs.nasty()
    found = made(own, logs.tested_interactions(own))
    data = found.data["pairs"]
    shares = [[texts[1:] for texts in table] for table in data["table"]]
    assert shares[0] == [["0.28", "0.900"], ["0.26", "0.900"], ["0.20", "0.900"]]
    assert shares[1][:4] == [["0.16", "0.040"], ["0.14", "0.030"], ["0.12", "≤0.002"], ["0.10", "0.010"]]
    assert shares[1][4:] == shares[0]
    assert data["more"] == ["and 7 more, none of them above chance", "and 3 more, none of them above chance"]
    assert [words[1] for words in data["words"]] == [
        "No pair is above chance, so no cell has a colour.",
        "4 of 10 pairs are above chance.",
    ]
    assert data["words"][0][0] == "Pairs were looked at for γ′ = 0.1 and 0.7; shown are those for 0.1."
    assert [data["above"][0][i] for i, *_ in data["table"][0]] == [0] * 3


def test_blank_parameters_of_the_map_say_why():
    """Never together with any other, or never looked at; two crosses of others are named as pairs."""
    own = logs.nasty()
    fake = logs.tested_interactions(own)
    found = made(own, fake)
    named = dict(zip(found.full, found.data["labels"], strict=True))
    words = " ".join(made(own, fake).data["pairs"]["words"][0])
    assert "Crosses are pairs that are never active in the same row: " in words
    assert "Not on the map: " in words
    assert set(made(own, fake).data["pairs"]["map"]) == {
        row for pair in made(own, fake).data["pairs"]["pairs"] for row in pair
    }
    fake.status[:], fake.p_adjusted[:] = 0, 0.9
    alone = own.names[0]
    of = [i for i, pair in enumerate(fake.pairs) if alone in pair]
    fake.status[:, of] = int(Status.NEVER_TOGETHER)
    words = made(own, fake).data["pairs"]["words"][0]
    assert f"{named[alone]} is never active in the same row as another on the map." in words
    assert not any(text.startswith("Crosses") for text in words)


def test_sentences_of_verdicts(monkeypatch):
    """A capital, a full stop, no colon before a sentence, and levels without a winner are not named."""
    own = logs.with_uncertainty(logs.result())
    fake = own.uncertainty
    texts = ["enough rows: intervals are narrow", "more rows would help", "nothing can be said", "a."]
    monkeypatch.setattr(logs.FakeUncertainty, "verdicts", lambda self: texts)
    fake.rank_stability = np.array([0.37, 0, 1, np.nan])
    found = made(own)
    assert any(text == "How sure? Enough rows: intervals are narrow." for text in found.summary)
    notes = [words["notes"] for words in found.data["words"]]
    assert [of[0] for of in notes[1:3]] == [f"{t[0].upper()}{t[1:]}." for t in texts[1:3]]
    assert notes[3][0] == "A."
    assert notes[0][0].startswith(
        "In other samples of these rows, about 69\N{NO-BREAK SPACE}% of the pairs of parameters are in "
    )
    fake.above_chance = np.zeros_like(fake.above_chance)
    found = made(own)
    assert found.summary[0] == (
        "For being among the best 10\N{NO-BREAK SPACE}% (20 rows, smallest objective value), no parameter is "
        "above chance; chance alone may explain the importance of x (0.86, p = 0.055) and c (0.10, p <0.001)."
        " Importances of all parameters add up to 1."
    )
    assert not any("depends on the level" in text for text in found.summary)


def test_the_winner_of_levels_at_which_it_is_above_chance():
    """Each with its own ranges; a level whose largest importance may be chance parts them."""
    own = logs.with_uncertainty(logs.result())
    names = own.names
    above = np.zeros((4, 3), bool)
    above[0, 1] = above[[2, 3], 0] = True  # at the last level x is larger than c
    own.uncertainty.above_chance = above
    assert numbers(own).mean.argmax(axis=1).tolist() == [1, 1, 0, 1]
    (text,) = [text for text in made(own).summary if "depends on the level" in text]
    assert text.endswith(
        f"γ′: {names[1]} (0.1), {names[0]} (0.5). At the other levels the largest importance is not above "
        "chance."
    )


def test_every_winner_is_named_before_a_second_range(monkeypatch):
    """Catches a list of ranges of one parameter alone under "depends on the level"."""
    from parzax.lens.page import words

    monkeypatch.setattr(words, "_MOST_RANGES", 2)
    own = logs.with_uncertainty(logs.result())
    names = own.names
    own.uncertainty.above_chance = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)
    (text,) = [text for text in made(own).summary if "depends on the level" in text]
    assert text.endswith(f"γ′: {names[1]} (0.1), {names[0]} (0.5), and others between.")


def test_advice_is_in_words_of_the_page():
    """No name of the Python interface is in what may be said of an importance."""
    for text in [bit.advice for bit in Status if bit <= Status.ALL_ZERO or bit >= Status.CROWDED]:
        assert not re.search(r"[a-z]_[a-z]|\w=|\(\)|Observations|GridEstimator", text), text


def test_most_parameters(tmp_path):
    """Only those are shown that are important somewhere, and it is said what the others are at most."""
    own = logs.nasty()
    found = made(own, logs.fake_interactions(own), most=3)
    kept = set(np.argsort(-own.importance.max(axis=0))[:3].tolist())
    assert {own.names.index(name) for name in own.names if name in found.full} <= kept
    assert len(found.full) == 3
    rest = np.delete(own.importance, list(kept), axis=1).max()
    assert found.left_out.startswith("7 further parameters are not shown")
    assert found.left_out.endswith(f"{rest:.2f}.")
    assert all(max(pair) < 3 for pair in found.data["pairs"]["pairs"])
    data_of(page(tmp_path, own, max_parameters=3))


def test_observations_of_one_run(tmp_path):
    """By default with intervals and pairs; and how it was read and made.

    Rows by state, the domains, the command, the versions and the date stand on the page, and what a sampler
    that learns does to intervals, which pages without intervals do not say.
    """
    obs = logs.activation()
    report = dataclasses.replace(
        obs.report, n_rows=230, dropped={"state PRUNED": 20, "state FAIL": 10}, inferred=("c: guessed",)
    )
    obs = dataclasses.replace(obs, report=report)
    html = page(tmp_path, obs, levels=logs.LEVELS, title="study.db", command="parzax report", date="someday")
    texts = Texts(html)
    for text in (
        "230 rows, minimize",
        "left out: 20 (pruned)",
        "left out: 10 (failed)",
        "inferred: c: guessed",
        "used: 200 rows",
        "parzax report",
        "someday",
        px.__version__,
        np.__version__,
    ):
        assert text in texts.items
    assert "<title>study.db</title>" in html
    assert '<a href="#pairs">' in html
    assert "no samples of the rows were drawn" not in html
    sampler = "If a sampler that learns, such as TPE"
    assert sampler in texts.ids["short"]
    assert "among many levels, some show noise above chance" in texts.ids["levels"]
    learned = dataclasses.replace(logs.result(), report=dataclasses.replace(obs.report, learned=True))
    learned_page = page(tmp_path, logs.with_uncertainty(learned))
    short = Texts(learned_page).ids["short"]
    assert (short.count(LEARNED), sampler in short) == (1, False)
    assert learned_page.count(LEARNED) == 1
    for source in (logs.result(), logs.result(4)):
        assert sampler not in (texts := Texts(page(tmp_path, source))).ids["short"]
        assert "among many levels" not in texts.ids["levels"]  # nothing was tested


def test_nothing_to_say(tmp_path):
    """All losses are equal: no importance, no interval, and the page says why."""
    obs = logs.activation()
    equal = px.Observations.from_arrays(obs.space, obs.values, np.zeros(200))
    texts = Texts(page(tmp_path, equal, levels=logs.LEVELS))
    assert "nothing can be said" in texts.ids["short"]
    assert "All losses are equal" in texts.ids["beware"]


def test_refusals(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(TypeError, match="source of a report must be"):
        px.report([1, 2], path)  # pyright: ignore
    with pytest.raises(TypeError, match="estimator goes with observations"):
        px.report(logs.result(), path)
    with pytest.raises(TypeError, match="levels goes with observations"):
        px.report(logs.result(), path, levels=0.1)
    with pytest.raises(ValueError, match="there is no folder"):
        px.report(logs.result(), tmp_path / "missing" / "page.html")
    with pytest.raises(ValueError, match="max_parameters"):
        px.report(logs.result(), path, max_parameters=0)
    with pytest.raises(TypeError, match=r"interactions must be a parzax\.InteractionResult"):
        px.report(logs.result(), path, interactions=np.zeros(3))
    assert not path.exists()
