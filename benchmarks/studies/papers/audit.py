"""Twenty statements drawn at random from the texts of the papers, by loops or by the rows of other pages."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

import parzax as px
from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Range, Row, judged, missing, read_verdicts, together
from benchmarks.studies.papers.runs import Arrays, Unit

TITLE = "Twenty statements drawn at random"
ABOUT = """\
The three texts were cut into sentences, without their lists of references. 979 of them have at least 40
characters and a digit, a formula or a word of comparison.
`numpy.random.default_rng(20261130).permutation(979)` puts them in an order; the first twenty that can be
checked are below. The other places up to 37 have captions, settings, notation, results of other papers, or
statements of an earlier draw. Nine refer to rows of their paper's page and have the verdict of these; the
others are computed here, by loops in NumPy from the text alone. Loops came before rows were read. Six were
run again afterwards, with other bandwidths. For c-TPE's G.3 the first two loops contradicted the row in part;
they agree with it with kernels that were chosen by the results that the authors published."""
CAPTIONS: dict[str, str] = {}
CODE = "benchmarks/studies/papers/audit.py"
PAGES = Path(__file__).parents[3] / "docs" / "studies" / "papers"
ARXIV = {
    "cond_ped_anova": "arXiv 2601.20800",
    "c_tpe": "arXiv 2211.14411",
    "meta_learn_tpe": "arXiv 2212.06751",
}
DISJOINT, OVERLAP, MOVING = PROBLEMS = (
    "activation-disjoint",
    "activation-overlap",
    "regime-dependent-domain",
)
LEVELS = np.arange(1, 100) / 100
TABLES = ("naval_propulsion", "parkinsons_telemonitoring", "slice_localization", "so_en", "sw_en")
# By their places in the order: paper, where they stand, what they say, and the rows of its page, if any.
STATEMENTS: dict[int, tuple[str, str, str, list[str]]] = {
    0: ("c_tpe", "F.3", "its TPE is better than Hyperopt", ["t3-our TPE-Hyperopt"]),
    4: (
        "c_tpe",
        "Section 1",
        "TPE's score is a probability of improvement, c-TPE's a product of these",
        ["proposition-1", "corollary-1"],
    ),
    7: ("cond_ped_anova", "Section 5.5.2", "shares jump between levels without weights, not with them", []),
    9: (
        "cond_ped_anova",
        "F.4, Eq. 51",
        "the divergence of mixtures is that within regimes and that of the regimes",
        [f"lemma-f.2-{name}" for name in PROBLEMS],
    ),
    10: ("meta_learn_tpe", "A.1", "by its quantile function every task is split at gamma: other rows", []),
    11: ("meta_learn_tpe", "A.2, Eq. 25, 26", "the similarity converges to that of the sets", ["theorem-2"]),
    13: (
        "meta_learn_tpe",
        "Section 5.2",
        "only warm start is slightly worse than 100 random evaluations",
        [f"f4-warm-{name}" for name in TABLES],
    ),
    15: ("c_tpe", "G.3", "the space of NAS-Bench-201 has six categorical parameters: other tables", []),
    16: (
        "c_tpe",
        "G.3",
        "c-TPE is further from vanilla TPE on NAS-Bench-201 than on HPOlib",
        [f"discrepancy-{quantile}" for quantile in (0.1, 0.5, 0.9)],
    ),
    17: ("meta_learn_tpe", "Section 3.3", "MO-TPE picks the largest ratio of densities: other picks", []),
    20: ("c_tpe", "B.3.2", "the rows below of a constraint are those within its threshold: other rows", []),
    21: (
        "meta_learn_tpe",
        "B.3, Eq. 29 to 31",
        "with several objectives the ratio gives the probability of a rank up to that of f^gamma: gap",
        [],
    ),
    22: ("cond_ped_anova", "Section 1", "PED-ANOVA is much faster than f-ANOVA, and as accurate: error", []),
    23: ("c_tpe", "A.4, Eq. 4", "the rows below are those with f <= f^gamma: other rows", []),
    26: ("cond_ped_anova", "D.5", "weighted variances have no large discontinuities, unweighted have", []),
    29: ("meta_learn_tpe", "B.6, Eq. 44", "a trivial dimension changes no overlap", ["proposition-2"]),
    30: ("cond_ped_anova", "Section 5.5.2", "without weights the symmetry of the objectives is lost", []),
    32: ("c_tpe", "C.3", "equal shares and ratios give equal slopes of the score: gap", []),
    34: (
        "c_tpe",
        "Table 3",
        "TuRBO-1 is worse than its TPE after 150 and 200 evaluations, not told apart after 50 and 100",
        ["t3-TuRBO-1-our TPE"],
    ),
    37: ("meta_learn_tpe", "B.4, Lemma 1", "the similarity of sets is (1 - d) / (1 + d)", ["lemma-1"]),
}


def units(quick: bool) -> list[Unit]:
    """All of them, in two minutes."""
    del quick
    names = ("curves", "slopes", "presets", "categories")
    accuracies = Unit("accuracy", f"{__name__}:accuracy", needs=("optuna", "sklearn"), alone=True)
    return [*(Unit(name, f"{__name__}:{name}", cost=20) for name in names), accuracies]


# --- conditional PED-ANOVA ---------------------------------------------------------------------------------


def _density(rows: np.ndarray, low: float, high: float, at: np.ndarray) -> np.ndarray:
    """Normal kernels cut off at the ends of the domain, with Scott's bandwidth."""
    spread = rows.std(ddof=1) if len(rows) > 1 else 0.0
    width = max(1.059 * spread * len(rows) ** -0.2, (high - low) / 50)
    inside = norm.cdf(high, rows, width) - norm.cdf(low, rows, width)
    return (norm.pdf(at[:, None], rows, width) / inside).mean(axis=1)


def _pearson(target: np.ndarray, region: np.ndarray, low: float, high: float) -> float:
    at = low + (np.arange(200) + 0.5) * (high - low) / 200
    p, q = (_density(rows, low, high, at) for rows in (target, region))
    return float(((p - q) ** 2 / q).mean() * (high - low))


def curves() -> Arrays:
    """Variances (logs, levels, 3) of c, x, y by Eq. 11, "weighted", and Eq. 18, "plain", on Eq. 12 to 16."""
    inactive = None
    domains: dict[str, tuple] = {
        DISJOINT: (((-5, -2), inactive), (inactive, (2, 5))),
        OVERLAP: (((-5, 2), inactive), (inactive, (-2, 5))),
        MOVING: (((-7, -2), (2, 7)), ((-5, -2), (2, 5))),
    }
    found = {f"{how}/{name}": np.zeros((4, 99, 3)) for name in PROBLEMS for how in ("weighted", "plain")}
    for name, of_parameters in domains.items():
        for seed in range(4):
            rng = np.random.default_rng(seed)
            c = rng.random(1000)
            # Of each parameter its values in every regime where it is active: (which rows, values, domain).
            parts: list[list] = [[(np.ones(1000, bool), c, (0, 1))], [], []]
            loss = np.zeros(1000)
            for j, of_regimes in enumerate(of_parameters, 1):
                for inside, domain in zip((c < 0.5, c >= 0.5), of_regimes, strict=True):
                    if domain is not inactive:
                        x = rng.uniform(domain[0], domain[1], 1000)
                        loss += x * inside
                        parts[j].append((inside, x, domain))
            order = np.argsort(loss)
            for k, level in enumerate(LEVELS):
                target = np.isin(np.arange(1000), order[: round(1000 * level)])
                for j in range(3):
                    for inside, x, domain in parts[j]:
                        alpha, beta = inside[target].mean(), inside.mean()
                        if alpha > 0:
                            divergence = level**2 * _pearson(x[target & inside], x[inside], *domain)
                            found[f"plain/{name}"][seed, k, j] += divergence
                            found[f"weighted/{name}"][seed, k, j] += alpha**2 / beta * divergence
    return found


def accuracy() -> Arrays:
    """Errors of shares, and seconds, (logs,) by method, of 9 a^2 + 3 b^2 + c^2 on [-0.5, 0.5]^4."""
    import optuna

    from benchmarks.studies.papers.cond_ped_anova.baselines import first_study
    from benchmarks.studies.papers.cond_ped_anova.peers import evaluated

    space = px.Space({name: px.Float(-0.5, 0.5) for name in "abcd"})
    weights = np.array([9.0, 3.0, 1.0, 0.0])
    x = np.random.default_rng(1).uniform(-0.5, 0.5, (1_000_000, 4))
    loss = x**2 @ weights
    is_best = loss <= np.quantile(loss, 0.1)
    cells = np.minimum((100 * (x + 0.5)).astype(int), 99)
    of_best = np.array([np.bincount(cells[:, j], is_best, 100).var() for j in range(4)])
    truth = {"f-ANOVA": weights**2, "PED-ANOVA": of_best, "parzax": of_best}
    x = x[:900].reshape(3, 300, 4)
    obs = px.Observations.from_arrays(space, x, x**2 @ weights)
    of_optuna = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.1, region_quantile=1.0)
    methods: dict[str, Callable[[int], Any]] = {
        "f-ANOVA": lambda seed: evaluated("f-ANOVA", first_study(obs, seed), seed),
        "PED-ANOVA": lambda seed: of_optuna.evaluate(first_study(obs, seed)),
        "parzax": lambda seed: px.cond_ped_anova(obs, 0.1, n_resamples=0).importance[seed],
    }
    found = {f"{what}/{name}": np.zeros(3) for name in methods for what in ("error", "seconds")}
    for name, method in methods.items():
        for seed in range(3):
            start = time.perf_counter()
            shares = method(seed)
            found[f"seconds/{name}"][seed] = time.perf_counter() - start
            each = np.array([shares[own] for own in "abcd"] if isinstance(shares, dict) else shares)
            found[f"error/{name}"][seed] = np.abs(each / each.sum() - truth[name] / truth[name].sum()).max()
    return found


# --- samplers ----------------------------------------------------------------------------------------------


def slopes() -> Arrays:
    """Gap (examples,) of the slopes of c-TPE's score where two ratios, and their shares, are equal."""
    rng, gap = np.random.default_rng(0), np.zeros(100)
    for i in range(100):
        ratios, shares = np.exp(rng.normal(size=3)), rng.uniform(0.02, 0.98, 3)
        ratios[1], shares[1] = ratios[0], shares[0]
        factors = 1 / (shares + (1 - shares) / ratios)
        by_hand = (1 - shares) / (shares * ratios + 1 - shares) ** 2 * factors.prod() / factors
        with jax.enable_x64(True):
            ours = np.asarray(_slopes(jnp.asarray(ratios), jnp.asarray(shares)))
        gap[i] = max(abs(ours[0] / ours[1] - 1), np.abs(ours / by_hand - 1).max())
    return {"gap": gap}


@jax.jit
def _slopes(ratios: jax.Array, shares: jax.Array) -> jax.Array:
    def score(r: jax.Array) -> jax.Array:
        return jnp.exp(px.acquisition.constrained_score(jnp.log(r)[:, None], jnp.zeros((3, 1)), shares)[0])

    return jax.grad(score)(ratios)


def presets() -> Arrays:
    """What differs from loops (logs,) in the presets by the texts: in "probability" a gap, else a count."""
    plane = px.Space({"u": px.Float(0, 1), "v": px.Float(0, 1)})
    grid = px.Space({"a": px.Categorical(list("stuv")), "b": px.Int(0, 5)})
    cells = np.array([[a, b] for a in range(4) for b in range(6)], float)
    names = ("quantiles", "picks", "thresholds", "probability", "ties")
    found: dict[str, list[float]] = {name: [] for name in names}

    def below(sampler: px.samplers.Sampler, *rows: np.ndarray) -> np.ndarray:
        state = sampler.tell(sampler.init(64), *rows)
        return np.asarray(sampler.split(state).below)[:, : len(rows[0])]

    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, wrong = rng.random((60, 2)), 0
        distances = ((x - 0.4) ** 2).sum(axis=1)
        for loss in (distances, np.exp(9 * distances), -1 / (distances + 0.1)):  # of one order
            quantiles = np.array([(loss <= value).mean() for value in loss])
            source = px.Observations.from_arrays(plane, x, loss)
            sampler: Any = px.papers.meta_learn_tpe(plane, [source])
            of_source = np.asarray(sampler.smoothing.sources.n_rows).ravel()[0]
            wrong += abs(of_source - (quantiles <= 0.1).sum())
            wrong += (below(sampler, x, loss)[0] != (quantiles <= 0.1)).sum()
        found["quantiles"].append(wrong)
        f, c = rng.integers(0, 7, 60).astype(float), rng.integers(-3, 4, 60).astype(float)
        of_constraint = below(px.papers.c_tpe(plane, n_constraints=1), x, f, c)[1]
        found["thresholds"].append((of_constraint != (c <= 0)).sum())
        cut_off = np.sort(f)[math.ceil(math.sqrt(60) / 4) - 1]
        found["ties"].append(
            (below(px.papers.c_tpe(plane, n_constraints=0), x, f)[0] != (f <= cut_off)).sum()
        )
        x = np.stack([rng.integers(0, 4, 60), rng.integers(0, 6, 60)], axis=1).astype(float)
        losses = np.stack([x[:, 1] + rng.random(60), rng.random(60)], axis=1)
        sampler = px.papers.mo_tpe(grid, 2)
        state = sampler.tell(sampler.init(64), x, losses)
        picked = sampler.ask(jax.random.key(seed), state, candidates=cells)[0]
        best = cells[np.asarray(sampler.score_of(state, cells)).argmax()]
        found["picks"].append(float((np.asarray(picked) != best).any()))
        good, gap = np.isin(np.arange(60), _by_rank(losses)[:6]), 0.0
        ours = below(sampler, x, losses)[0]
        for here in ((x == cell).all(axis=1) for cell in cells):
            if here.any():
                low, high, gamma = here[ours].mean(), here[~ours].mean(), ours.mean()
                by_densities = gamma * low / (gamma * low + (1 - gamma) * high)
                gap = max(gap, abs(by_densities - good[here].mean()))
        found["probability"].append(gap)
    return {name: np.array(gaps, float) for name, gaps in found.items()}


def _by_rank(losses: np.ndarray) -> np.ndarray:
    """Rows by non-domination rank, then by crowding distance."""
    left, order = list(range(len(losses))), []
    while left:
        worse = {
            i for i in left for j in left if (losses[j] <= losses[i]).all() and (losses[j] < losses[i]).any()
        }
        front = [i for i in left if i not in worse]
        distance = dict.fromkeys(front, 0.0)
        for column in losses.T:
            by_value = sorted(front, key=lambda i, column=column: column[i])
            distance[by_value[0]] = distance[by_value[-1]] = math.inf
            for before, i, after in zip(by_value, by_value[1:], by_value[2:], strict=False):
                width = column[by_value[-1]] - column[by_value[0]]
                distance[i] += (column[after] - column[before]) / width
        order += sorted(front, key=lambda i, distance=distance: -distance[i])
        left = sorted(worse)
    return np.array(order)


def categories() -> Arrays:
    """Of every table of NAS-Bench-201: rows, then the numbers of categories of its categorical parameters."""
    folder, found = data.folder(), {}
    for path in sorted(folder.glob("nasbench201/*.json")) if folder else []:
        header = json.loads(path.read_text(encoding="utf-8"))
        kinds = [len(h["values"]) for h in header["hyperparameters"] if h["kind"] == "categorical"]
        found[header["name"]] = np.array([len(np.load(path.with_suffix(".npz"))["index"]), *kinds])
    return found


# --- rows --------------------------------------------------------------------------------------------------


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """The twenty statements, in the order of the draw."""
    computed = {drawn[0]: drawn[1:] for drawn in _computed(found)}
    return [_row(place, *computed.get(place, ("", 0.0, 0.0, ""))) for place in STATEMENTS]


def _row(place: int, ours: str, gap: float, most: float, note: str) -> Row:
    """By the rows of the paper's page, where it has some, or by how far a gap is at most."""
    page, where, printed, keys = STATEMENTS[place]
    key, where = f"drawn-{place}", f"{ARXIV[page]}, {where}"
    if keys:
        verdicts = read_verdicts(PAGES / f"{page}.csv")
        ours = ", ".join(f"`{other}` {verdicts[other]}" for other in keys)
        verdict, note = together([verdicts[other] for other in keys]), f"rows of [its page]({page}.md)"
        return Row(key, where, printed, ours, verdict, note, reason="they say why")
    if not ours:
        return missing(key, where, printed, note)
    wanted = Range(high=most)
    return Row(key, where, f"{printed} [{wanted}]", ours, judged(gap, 0, wanted), note, code=CODE)


def _computed(found: Mapping[str, Arrays]) -> Iterator[tuple[int, str, float, float, str]]:
    """Place, ours, a gap, how large it may be, and a note."""
    largest = {name: float(gaps.max()) for name, gaps in found["presets"].items()}
    for place, name in ((10, "quantiles"), (17, "picks"), (20, "thresholds"), (23, "ties")):
        yield place, f"{largest[name]:.0f}", largest[name], 0.0, "presets of `px.papers`, 10 logs"
    note = "groups of `px.papers.mo_tpe`, ranks by a loop, densities by counts; 10 logs of 24 cells"
    yield 21, f"{largest['probability']:.1e}", largest["probability"], 1e-12, note
    gap = float(found["slopes"]["gap"].max())
    yield 32, f"{gap:.1e}", gap, 1e-12, "relative; 100 examples"
    own = found["categories"]
    wrong = sum(len(sizes) != 7 or np.prod(sizes[1:]) != sizes[0] for sizes in own.values())
    ours = f"{wrong} of {len(own)}" if own else ""
    note = "the rows are all combinations of six choices of five" if own else "the tables in PARZAX_DATA"
    yield 15, ours, float(wrong), 0.0, note
    yield from _of_curves(found["curves"])
    if not (own := found["accuracy"]):
        yield 22, "", 0.0, 0.0, "optuna and scikit-learn"
        return
    error = {name: float(own[f"error/{name}"].mean()) for name in ("f-ANOVA", "PED-ANOVA", "parzax")}
    ratio = float((own["seconds/f-ANOVA"] / own["seconds/PED-ANOVA"]).min())
    ours = ", ".join(f"{name} {x:.3f}" for name, x in error.items()) + f"; {ratio:.0f} times as fast"
    note = (
        "largest error of a share, of Optuna's and ours; 9 a^2 + 3 b^2 + c^2, the best tenth of 3 logs of "
        "300 rows, f-ANOVA's by the variance of the function; our range, with 10 times as fast"
    )
    yield 22, ours, error["PED-ANOVA"] if ratio > 10 else math.inf, 0.1, note


def _of_curves(own: Arrays) -> Iterator[tuple[int, str, float, float, str]]:
    """Jumps, steps and asymmetry: the largest weighted number over the least without weights."""
    numbers: dict[int, dict[str, float]] = {7: {}, 26: {}, 30: {}}
    for name, variances in own.items():
        mean = variances.mean(axis=0)
        shares = (variances / variances.sum(axis=-1, keepdims=True)).mean(axis=0)
        mirrored = shares[::-1, [0, 1, 2] if name.endswith(MOVING) else [0, 2, 1]]
        numbers[7][name] = float(np.abs(np.diff(shares, axis=0)).max())
        numbers[26][name] = float((np.abs(np.diff(mean, axis=0)) / mean.max(axis=0))[4:-4].max())
        numbers[30][name] = float(np.abs(shares - mirrored)[4:-4].max())
    what = {
        7: "largest jump of a share",
        26: "largest step of a variance over its largest value",
        30: "largest distance of a share from its mirror image",
    }
    for place, of_name in numbers.items():
        weighted, plain = ([of_name[f"{how}/{name}"] for name in PROBLEMS] for how in ("weighted", "plain"))
        with_weights, without = (", ".join(f"{x:.2f}" for x in each) for each in (weighted, plain))
        note = (
            f"{what[place]}, disjoint, overlapping and moving domains, 4 logs of 1000 rows; our range: the "
            "largest with weights over the least without"
        )
        yield place, f"{with_weights}, without weights {without}", max(weighted) / min(plain), 0.25, note


def figures(found: Mapping[str, Arrays], folder: Path) -> None:
    """None."""
