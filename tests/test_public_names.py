"""Public names: the promised ones exist, and each is documented."""

import ast
import inspect
from pathlib import Path

import pytest

import parzax as px

PROMISED = {
    *(
        "ages",
        "bandwidth",
        "density",
        "divergence",
        "gamma",
        "importance",
        "kernels",
        "lens",
        "merits",
        "meta",
    ),
    *("papers", "pareto", "prior", "samplers", "stop", "valid"),
    *(
        "ParzenEstimator",
        "Encoded",
        "Grid",
        "encode",
        "Observations",
        "report",
        "ImportanceResult",
        "compare",
    ),
    *("cond_ped_anova", "interactions", "minimize", "optimize", "optimize_many", "Problem"),
    *("tpe", "c_tpe", "mo_tpe", "optuna_tpe", "meta_learn_tpe"),
    *("Between", "Categorical", "Float", "In", "Int", "Ordinal", "Recorded", "Space", "Varying"),
    "choose",
    *("Split", "Status"),
}
# Members that are packages, and what is used of them.
PACKAGES = {
    "acquisition": {"constrained_score", "log_ratio", "log_relative_ratio", "naive_product"},
    "ages": {"AbstractAges", "Ramp"},
    "prior": {"Normal"},
    "bandwidth": {
        *("AbstractBandwidth", "Constant", "FixedTop", "Neighbours"),
        *("OptunaTop", "Scott"),
    },
    "density": {"AbstractMixture", "AbstractSmoothing", "Mixture", "ParzenEstimator", "Smoothing"},
    "divergence": {
        *("AbstractDivergence", "Explained", "Pearson", "RegimeCounts", "grid_density", "pearson_divergence"),
    },
    "gamma": {"AbstractGamma", "Linear", "Optuna", "Sqrt"},
    "importance": {
        *("Counts", "Encoded", "Grid", "Importance", "Interactions", "encode", "estimate", "interactions"),
        *("chebyshev", "importance", "of_function", "pareto_losses", "resample", "cell_starts"),
        *("shuffle", "weighted_sum", "within_regime_variance"),
    },
    "kernels": {"AbstractKernel", "AbstractProductKernel", "AitchisonAitken", "TruncatedNormal"},
    "lens": {
        "cli",
        "count",
        "logs",
        "page",
        "plotting",
        "results",
        "run",
        "similarity",
        "tables",
    },
    "merits": {"AbstractMerit", "ByRank"},
    "meta": {
        "BySimilarity",
        "Comparison",
        "SourceRows",
        "Stacking",
        "task_kernel",
    },
    "papers": {"c_tpe", "meta_learn_tpe", "mo_tpe", "naive_c_tpe", "authors_meta_learn_tpe", "tpe"},
    "pareto": {
        *("crowding_distance", "hypervolume"),
        *("non_domination_rank", "greedy_hypervolume_order", "AbstractTies", "Crowding", "Hypervolume"),
    },
    "results": {"Comparison", "ImportanceResult", "InteractionResult"},
    "samplers": {"AbstractStart", "Best", "Proposal", "Sampler", "State", "Trace", "similarities"},
    "space": {"Choice"},
    "split": {"AbstractSplit", "Split", "SplitRows", "State"},
    "stop": {"Gain", "Patience", "Target"},
    "surrogate": {"Draw", "GaussianProcess", "Posterior", "importances"},
}
NAMES = sorted(name for name in dir(px) if not name.startswith("_") and callable(getattr(px, name)))


def test_promised_names():
    """Catches a rename of what examples and adapters use."""
    assert set(px.__all__) == PROMISED
    assert len(px.__all__) <= 47
    assert set(dir(px)) >= PROMISED
    assert px.__version__


def test_names_load_late_and_are_what_type_checkers_see():
    """`__init__.pyi` has the names that load late; catches a name in one of them alone."""
    stub = ast.parse(Path(px.__file__).with_suffix(".pyi").read_text())
    seen = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    packages = {name: (home.rpartition(".")[0], home.rpartition(".")[2]) for name, home in px._PATHS.items()}
    assert seen == packages | {name: (home, name) for name, home in px._HOMES.items()}
    assert set(dir(px)) >= seen.keys() == {name for name in seen if hasattr(px, name)}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = px.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_packages(package):
    member = getattr(px, package)
    assert inspect.getdoc(member)
    assert set(dir(member)) >= PACKAGES[package]
    for name in PACKAGES[package]:
        assert inspect.getdoc(getattr(member, name)), name


@pytest.mark.parametrize("name", NAMES)
def test_documented(name):
    """A docstring with a summary line on every public class and function, and on its public methods."""
    value = getattr(px, name)
    documented = [(name, value)]
    if inspect.isclass(value):
        for key, member in vars(value).items():
            if key.startswith("_") or not (callable(member) or isinstance(member, (property, classmethod))):
                continue
            documented.append((f"{name}.{key}", getattr(value, key)))
    for label, item in documented:
        text = inspect.getdoc(item)
        assert text, label
        assert text.strip().splitlines()[0].rstrip().endswith((".", ":")), label


@pytest.mark.parametrize(
    "example",
    [
        *(px.cond_ped_anova, px.encode, px.Space, px.optimize, px.optimize_many),
        *(px.divergence.grid_density, px.divergence.pearson_divergence, px.importance.within_regime_variance),
    ],
)
def test_examples(example):
    """The main entry points show how they are used."""
    assert ">>> " in inspect.getdoc(example)


def test_unknown_attribute():
    """The error names what was probably meant, where a name is close."""
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        px.nonsense
    with pytest.raises(AttributeError, match=r"no attribute 'optimise'; did you mean 'optimize'\?"):
        px.optimise
    with pytest.raises(AttributeError, match=r"'parzax.lens' has no attribute 'nonsense'"):
        px.lens.nonsense
