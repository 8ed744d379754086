"""What a page says: its numbers and sentences are those of the result."""

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import optuna
import pytest
from conftest import OPTUNA, QUICK

import parzax as px
from page import logs
from parzax.lens.page.content import content
from parzax.lens.page.search import describe_search
from parzax.lens.results.result import good_text
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
    mean, error = own.mean, own.standard_error
    data = data_of(page(tmp_path, own))
    np.testing.assert_allclose(data["levels"], own.levels)
    np.testing.assert_allclose(by_name(data, "mean", own.names), mean, atol=ROUNDING)
    if n_seeds is None:
        assert all(x is None for key in ("low", "high") for row in data[key] for x in row)
    else:
        for end, wanted in (("low", mean - error), ("high", mean + error)):
            np.testing.assert_allclose(by_name(data, end, own.names), wanted, atol=2 * ROUNDING)


def test_levels_ascend(tmp_path):
    """A result whose levels fall gives the same page as one whose levels rise."""
    falling = logs.analyse(logs.activation(), logs.LEVELS[::-1])
    assert page(tmp_path, falling) == page(tmp_path, logs.result())


def test_observations_as_results(tmp_path):
    """From observations with options, and from the result that these give; one level has no slider.

    The search itself is in the observations alone: its course, and its best rows.
    """
    options = {"region": 0.8, **OPTUNA}
    result = px.cond_ped_anova(logs.activation(), 0.1, n_resamples=0, **options)
    alone = {"levels": 0.1, "interactions": False, "n_resamples": 0}
    html = page(tmp_path, logs.activation(), **alone, **options)
    of_log, of_result = data_of(html), data_of(page(tmp_path, result))
    course = of_log.pop("course")
    assert of_result.pop("course") is None
    assert of_log == of_result
    losses = logs.activation().losses[:, 0]
    np.testing.assert_allclose(course["values"], losses, rtol=1e-5)
    np.testing.assert_allclose(course["best"], np.minimum.accumulate(losses), rtol=1e-5)
    assert [int(row[0]) - 1 for row in course["rows"]] == np.argsort(losses)[:5].tolist()
    texts = Texts(html)
    assert any("level_size='optuna'" in item for item in texts.items)
    assert texts.ids["label"] == "the best 10 % (20 of the best 160 rows, smallest loss), γ′ = 0.1"
    assert 'id="slider"' not in html
    assert 'id="curves"' not in html
    assert data_of(html)["start"] == 0


def test_first_questions(tmp_path):
    """The best row, the rows that count, the direction and the constraints are said in the first section.

    Catches a best row of the wrong end, one that does not count, and values of another row.
    """
    space = px.Space(
        {"lr": px.Float(1e-4, 1, log=True), "kind": px.Categorical(["a", "b"]), "n": px.Int(2, 64)}
    )
    x = np.stack([np.geomspace(1e-4, 1, 40), np.arange(40) % 2, np.arange(2, 42)], axis=1)
    value, excess = x[:, 2].copy(), np.where(np.arange(40) == 38, 1.0, -1.0)
    value[39] = np.nan
    obs = px.Observations.from_arrays(space, x, value, "maximize", constraints=excess)
    asked = {"levels": 0.3, "n_resamples": 0, "interactions": False, **QUICK}
    short = Texts(page(tmp_path, obs, rows="feasible", **asked)).ids["short"]
    assert f"objective 39 with lr = {x[37, 0]:.4g}, kind = b, n = 39" in short
    assert "40 rows, maximize; left out: 1 of them (not feasible); 1 of them without a usable" in short
    assert "the largest value; if that is wrong, read the log again with another direction" in short
    assert "1 of 40 rows violate one" in short
    html = page(tmp_path, logs.activation(3), **asked)
    assert 'id="course"' not in html
    assert "the log has none" in Texts(html).ids["short"]
    course = data_of(page(tmp_path, obs, rows="all", **asked))["course"]
    assert course["rows"][0] == ["39", "40", f"{x[38, 0]:.4g}", "a", "40"]


def test_best_rows_have_the_numbers_of_the_log():
    """Also where rows were left out before them: of a table from 1 on, of a study those of its trials."""
    table = {"x": np.arange(12) / 12, "state": ["FAIL"] * 5 + ["COMPLETE"] * 7, "value": np.arange(12)[::-1]}
    obs = px.Observations.from_dataframe(table, directions="minimize", warn=False)
    search = describe_search(obs, 0)
    assert search is not None
    assert [row[0] for row in search["rows"]] == ["12", "11", "10", "9", "8"]
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for number in range(9):
        study.enqueue_trial({"x": number / 10})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) if trial.number > 3 else np.nan, n_trials=9)
    search = describe_search(px.adapters.optuna.observations(study), 0)
    assert search is not None
    assert [row[0] for row in search["rows"]] == ["4", "5", "6", "7", "8"]


def test_ends_of_a_range_are_those_of_the_domain():
    """Catches 3.29 as the smallest of whole numbers from 2 to 64, the middle of a cell of the grid."""
    rng = np.random.default_rng(0)
    space = px.Space({"width": px.Int(2, 64), "lr": px.Float(1e-4, 1, log=True)})
    x = np.stack([rng.integers(2, 65, 300), np.exp(rng.uniform(np.log(1e-4), 0, 300))], axis=1)
    obs = px.Observations.from_arrays(space, x, x[:, 0])
    data = made(logs.analyse(obs, [0.1, 0.3])).data
    assert [picture["ticks"] for picture in data["pictures"]] == [["2", "64"], ["0.0001", "1"]]


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
    """The sentences are those of the result, at the level at which the page opens and at the others."""
    own = logs.with_uncertainty(logs.result())
    html = page(tmp_path, own)
    texts = Texts(html)
    assert texts.ids["sentences"].split() == " ".join(own.sentences(0)).split()
    assert texts.ids["label"] == "the best 10 % (20 of 200 rows, smallest loss), γ′ = 0.1"
    sentences = data_of(html)["sentences"]
    for i in range(len(logs.LEVELS)):
        assert sentences[i] == own.sentences(i)


def test_good_values():
    """At every level those of the result, with their shares; regimes by their own domains."""
    own = logs.result()
    found = made(own)
    captions = {"x": ["[-5, -2] if c < 0.5", "[2, 5] if c ≥ 0.5"], "c": ["[0, 1]"], "noise": ["[0, 1]"]}
    for regimes in found.values:
        name = own.names[regimes[0][1]["parameter"]]
        assert [of["caption"] for _, of in regimes] == captions[name]
        for i in range(len(logs.LEVELS)):
            good = {(x.parameter, x.regime): x for x in own.good_values(i)}
            for k, (_, of) in enumerate(regimes):
                values = good.get((name, k))
                text = good_text(values, own.space[name]) if values else ""
                nothing = ("nothing stands out", "no good values")
                assert of["texts"][i].startswith(text or nothing)
                assert ("; here are " in of["texts"][i]) == (name == "x")


def test_pictures_are_densities():
    """Masses in units of 1 / 5000, the target's at each level."""
    own = logs.result()
    found = made(own)
    for regimes in found.values:
        for k, (number, of) in enumerate(regimes):
            density = own.density(own.names[of["parameter"]])[k]
            if (picture := found.data["pictures"][number]) is not None:
                # Without rows among the best the target's density would be the prior.
                target = density.target * (own.alpha[:, of["parameter"], k, None] > 0)
                for key, masses in (("target", target), ("region", density.region[own.usual_level])):
                    np.testing.assert_allclose(np.array(picture[key]) / 5000, masses, atol=1.01e-4)


def test_uncertainty():
    """Intervals, adjusted p-values and chance are those of the result."""
    own = logs.with_uncertainty(logs.result())
    found, names = made(own), own.names
    for i, end in enumerate(("low", "high")):
        shown = by_name(found.data, end, names)
        np.testing.assert_allclose(shown, own.importance_interval[..., i], atol=ROUNDING)
    titles = found.columns
    assert titles == ["importance", "90 % interval", "p", "rows", "remarks"]
    for i in range(len(logs.LEVELS)):
        cells = own.cells(i)
        for label, shown in zip(found.data["labels"], found.data["cells"][i], strict=True):
            assert shown == [cells[title][names.index(label)] for title in titles]
        pale = by_name(found.data, "pale", names)[i]
        assert (pale == ~own.above_chance[i] | (by_name(found.data, "mean", names)[i] == 0)).all()


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


def test_no_empty_section(tmp_path):
    """Without a pair above chance there is neither a grey map nor a table; the counts are the picture's."""
    own = logs.with_uncertainty(logs.result())
    fake = logs.fake_interactions(own)
    vars(fake)["p_adjusted"] = np.ones(fake.p_value.shape)
    html = page(tmp_path, own, interactions=fake)
    assert 'id="heat"' not in html
    assert "no pair is above chance" in Texts(html).ids["pairs"]
    for j, name in enumerate(own.names):
        n = int(own.above[:, j].sum())
        assert (f"{name} at {n} of 4" in Texts(html).ids["levels"]) == (n > 0)
    assert "Not above chance" not in Texts(html).ids["beware"]


def activation_with(n_ranked, n_seeds=None):
    """The log with so many rows that have a loss, in the shapes of ``logs.result``."""
    obs = logs.activation(n_seeds)
    return dataclasses.replace(obs, losses=np.where(np.arange(obs.n)[:, None] < n_ranked, obs.losses, np.nan))


@pytest.mark.parametrize(("n_ranked", "level"), [(200, 0.1), (60, 0.3), (10, 0.5)])
def test_a_page_of_few_rows_opens_where_there_are_more_than_ten(n_ranked, level):
    """Of 60 trials a tenth are 6: it opens at the nearest level that has 11, or at half if none has."""
    found = made(logs.analyse(activation_with(n_ranked), logs.LEVELS)).data
    assert found["levels"][found["start"]] == level


def test_the_usual_level_of_several_seeds_is_one_for_all():
    """One bad seed of four rules no level out, neither of the page nor of the command line."""
    obs = activation_with(60, n_seeds=4)
    obs.losses[0, 1:] = np.nan
    result = logs.analyse(obs, logs.LEVELS)
    found = result.usual_level
    assert found == made(result).data["start"]
    assert logs.LEVELS[found] == 0.3


def test_what_counts_as_0_is_pale_and_said():
    """What is not compared is neither above chance nor below: it has no colour, and says why.

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
    data = made(px.cond_ped_anova(obs, 0.1, n_resamples=0, n_shuffles=99, **QUICK)).data
    by_label = dict(zip(data["labels"], zip(data["pale"][0], data["cells"][0], strict=True), strict=True))
    assert {name: pale for name, (pale, _) in by_label.items()} == {"c": 0, "x": 1, "fixed": 1, "noise": 1}
    remarks = {name: cells[-1] for name, (_, cells) in by_label.items()}
    assert remarks["c"] == ""
    assert remarks["x"] == Status.NOT_IN_TARGET.fact
    assert remarks["fixed"] == Status.SINGLE_VALUE.fact
    assert remarks["noise"] == "cannot tell yet"


def test_pairs_above_chance_come_first():
    """By importance at each level; ≤ where no draw came near."""
    own = logs.nasty()
    found = made(own, logs.tested_interactions(own)).data["pairs"]
    for q, n_above in enumerate((0, 4)):
        table = found["table"][q]
        assert [bool(found["above"][q][i]) for i, *_ in table] == [True] * n_above + [False] * (10 - n_above)
        assert found["words"][q][1].startswith(
            "What mattered: no pair is above chance" if not n_above else "What mattered: "
        )
    assert [texts for _, *texts in found["table"][1][:4]] == [
        ["0.16", "0.040"], ["0.14", "0.030"], ["0.12", "≤0.002"], ["0.10", "0.010"],
    ]  # fmt: skip
    assert found["importance"][0].count(None) == 2  # never together


def test_advice_is_in_words_of_the_page():
    """No name of the Python interface is in what may be said of an importance."""
    for text in [bit.advice for bit in Status if bit <= Status.ALL_ZERO or bit >= Status.CROWDED]:
        assert not re.search(r"[a-z]_[a-z]|\w=|\(\)|Observations", text), text


def test_most_parameters():
    """Only those are shown that are important somewhere, and it is said what the others are at most."""
    own = logs.nasty()
    found = made(own, logs.fake_interactions(own), most=3)
    kept = set(np.argsort(-own.importance.max(axis=0))[:3].tolist())
    assert {own.names.index(name) for name in own.names if name in found.full} <= kept
    assert len(found.full) == 3
    assert found.left_out == "7 further parameters with lower importances not shown."
    assert all(max(pair) < 3 for pair in found.data["pairs"]["pairs"])


@pytest.mark.slow
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
    read = {
        "230 rows, minimize",
        "left out: 20 of them (pruned), 10 of them (failed)",
        "inferred: c: guessed",
    }
    assert read | {"parzax report", "someday", px.__version__, np.__version__} <= {*texts.items}
    assert "<title>study.db</title>" in html
    assert '<a href="#pairs">' in html
    assert "less sure if a search that learns" in texts.ids["short"]
    assert "among many levels, some show noise above chance" in texts.ids["levels"]
    learned = dataclasses.replace(logs.result(), learned=lambda: True)
    short = Texts(page(tmp_path, learned)).ids["short"]
    assert "a search that learns chose these rows" in short
    assert "less sure" not in short


def test_nothing_to_say(tmp_path):
    """All losses are equal: no importance, no interval, and the page says why."""
    obs = logs.activation()
    equal = px.Observations.from_arrays(obs.space, obs.values, np.zeros(200))
    texts = Texts(page(tmp_path, equal, levels=logs.LEVELS))
    assert "nothing can be said" in texts.ids["short"]
    assert "All losses are equal" in texts.ids["beware"]


def test_refusals(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(TypeError, match=r"the log must be parzax\.Observations"):
        px.report([1, 2], path)  # pyright: ignore
    with pytest.raises(TypeError, match="rows goes with observations"):
        px.report(logs.result(), path, rows="all")
    with pytest.raises(TypeError, match="levels goes with observations"):
        px.report(logs.result(), path, levels=0.1)
    with pytest.raises(ValueError, match="path: cannot write"):
        px.report(logs.result(), tmp_path / "missing" / "page.html")
    with pytest.raises(TypeError, match=r"interactions must be a parzax\.lens\.results\.InteractionResult"):
        px.report(logs.result(), path, interactions=np.zeros(3))
    assert not path.exists()
