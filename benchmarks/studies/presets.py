"""Settings of the presets, and how far these are from the papers: ``python -m benchmarks.studies.presets``.

Writes a page, docs/studies/presets.md for a full run without --out. Exits with status 1 if a claim does not
hold.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import signature

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies import pages
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

SPACE = px.Space(
    {
        "lr": px.Float(1e-5, 1.0, log=True),
        "momentum": px.Float(0, 1),
        "width": px.Int(16, 1024, log=True),
        "layers": px.Int(1, 8),
        "batch": px.Ordinal([16, 32, 64, 128]),
        "activation": px.Categorical(["relu", "tanh", "gelu"]),
    }
)
# Parts of presets whose fields are options.
PARTS = (px.Split, px.density.Smoothing, px.samplers.Proposal, px.meta.Comparison)
SIZES, N_LOGS, N_CANDIDATES, N_SOURCES = (20, 50, 200), 40, 400, 4
# Name of the comparison -> preset, text, numbers of objectives and constraints, whether it takes sources.
PAIRS: Mapping[str, tuple[str, str, int, int, bool]] = {
    "one objective": ("tpe", "papers.tpe", 1, 0, False),
    "a constraint": ("tpe", "papers.c_tpe", 1, 1, False),
    "a constraint, the code": ("c_tpe", "papers.c_tpe", 1, 1, False),
    "two objectives": ("tpe", "papers.mo_tpe", 2, 0, False),
    "two objectives, the code": ("mo_tpe", "papers.mo_tpe", 2, 0, False),
    "sources": ("meta_learn_tpe", "papers.meta_learn_tpe", 1, 0, True),
    "sources, the code": ("papers.authors_meta_learn_tpe", "papers.meta_learn_tpe", 1, 0, True),
}


def preset(name: str) -> Callable[..., px.samplers.Sampler]:
    """A preset by its name in parzax."""
    *module, last = name.split(".")
    return getattr(getattr(px, module[0]) if module else px, last)


def correlations(first: str, second: str, n_objectives: int, n_constraints: int, sources: bool) -> Arrays:
    """A unit: rank correlations (l, n) of the scores of two presets at random candidates, after n rows."""
    found: list[list[float]] = []
    for log in range(N_LOGS):
        rng = np.random.default_rng(log)
        rows = _rows(rng, max(SIZES), n_objectives, n_constraints, shift=0.0)
        tasks = [_rows(rng, 100, n_objectives, n_constraints, shift=0.1) for _ in range(N_SOURCES)]
        logs = [px.Observations.from_arrays(SPACE, x, y, constraints=c) for x, y, c in tasks]
        candidates = _configurations(rng, N_CANDIDATES)
        given = (logs,) if sources else ()
        sizes = {"n_objectives": n_objectives, "n_constraints": n_constraints}
        samplers = [_made(name, given, sizes) for name in (first, second)]
        found.append([])
        for n in SIZES:
            scores = []
            for sampler in samplers:
                parts = (None if part is None else part[:n] for part in rows)
                scores.append(
                    np.asarray(sampler.score_of(sampler.tell(sampler.init(256), *parts), candidates))
                )
            found[-1].append(float(scipy.stats.spearmanr(*scores)[0]))
    return {"correlation": np.array(found)}


def _made(name: str, given: tuple, sizes: Mapping[str, int]) -> px.samplers.Sampler:
    names = signature(preset(name)).parameters
    return preset(name)(SPACE, *given, **{key: n for key, n in sizes.items() if key in names})


def _configurations(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 6) random configurations."""
    drawn = [
        10 ** rng.uniform(-5, 0, n), rng.random(n), np.exp(rng.uniform(np.log(16), np.log(1024), n)).round(),
        rng.integers(1, 9, n), 2.0 ** rng.integers(4, 8, n), rng.integers(0, 3, n),
    ]  # fmt: skip
    return np.stack(drawn, axis=-1)


def _rows(
    rng: np.random.Generator, n: int, n_objectives: int, n_constraints: int, shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Random configurations, their losses with a little noise, and a constraint that half of them satisfy."""
    x = _configurations(rng, n)
    lr, layers = np.log10(x[:, 0]) / 5 + 0.6 + shift, x[:, 3] / 8
    loss = lr**2 + 0.3 * (x[:, 1] - 0.8 + shift) ** 2 + 0.1 * (x[:, 5] == 1) + 0.02 * rng.standard_normal(n)
    losses = np.stack([loss, layers + 0.1 * np.log2(x[:, 2])], axis=-1)[:, :n_objectives]
    return x, losses, (layers + 0.1 * np.log2(x[:, 2]) - 1.3)[:, None] if n_constraints else None


def units(quick: bool) -> list[Unit]:
    """One for each pair of presets."""
    names = list(PAIRS)[2:3] if quick else list(PAIRS)
    work = "benchmarks.studies.presets:correlations"
    keys = "first", "second", "n_objectives", "n_constraints", "sources"
    return [Unit(name, work, dict(zip(keys, PAIRS[name], strict=True)), cost=30.0) for name in names]


def written(found: Mapping[str, Arrays]) -> Page:
    """Settings, and correlations."""
    lines = ["| | preset | text | " + " | ".join(f"N = {n}" for n in SIZES) + " |", "| --- " * 6 + "|"]
    failed = []
    for name, arrays in found.items():
        values = arrays["correlation"]
        means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / len(values) ** 0.5
        cells = (
            f"{m:.2f} ({m - 1.96 * e:.2f}, {m + 1.96 * e:.2f})" for m, e in zip(means, errors, strict=True)
        )
        first, second, *_ = PAIRS[name]
        lines.append(f"| {name} | `px.{first}` | `px.{second}` | " + " | ".join(cells) + " |")
        if name.endswith("the code") and not (means > 0.5).all():
            failed.append(f"{name}: the scores of text and code have a rank correlation below 0.5")
    return Page([ABOUT, settings(), SCORES, "\n".join(lines)], (N_LOGS, max(SIZES)), failed)


def settings() -> str:
    """A table of the options in which a preset of a text and that of the code differ."""
    lines = ["| text | preset | option | by the text | in the preset |", "| --- " * 5 + "|"]
    for first, second, *_ in (PAIRS[name] for name in PAIRS if name.endswith("the code")):
        code, text = _options(first), _options(second)
        for name, by_text in text.items():
            if by_text != code[name]:
                lines.append(f"| `px.{second}` | `px.{first}` | `{name}` | `{by_text}` | `{code[name]}` |")
    return "\n".join(lines)


def _options(name: str) -> dict[str, str]:
    """Every option of a preset with its default; a part such as the split has one for each of its fields."""
    options = {}
    for part, parameter in signature(preset(name)).parameters.items():
        value = parameter.default
        if isinstance(value, PARTS):
            options |= {f"{part}.{field.name}": repr(getattr(value, field.name)) for field in fields(value)}
        else:
            options[part] = repr(value)
    return options


ABOUT = """`px.papers` has presets with the settings of the papers' texts. Other presets follow the authors'
code, or settings that did better. This table is made from their signatures; all other options are equal.

One thing is as in the code in every preset: the prior counts as one row of the densities of the score, where
Eq. 16 of arXiv 2212.06751 has none. `px.papers.naive_c_tpe` takes no row below where none satisfies a
constraint; its authors take one (`unsatisfied="first"`).

For conditional PED-ANOVA by its text, call
`px.cond_ped_anova(log, divergence=px.divergence.Pearson(), grid=px.Grid.paper())`."""
SCORES = f"""## Rank correlation of scores

Spearman's, between the scores of a preset and of a text at {N_CANDIDATES} random candidates: means and 95 %
intervals over {N_LOGS} logs of N random rows, in a space of six parameters (floats, integers, an ordinal, a
category). How a preset draws its candidates does not enter. Sources are {N_SOURCES} tasks of 100 rows, whose
optimum is shifted by 0.1 of the axes."""

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", False)
    sys.exit(pages.main(None, "presets", __doc__, "Presets and the papers' texts", units, written))
