"""Public names: the promised ones exist, and each is documented."""

import ast
import inspect
from pathlib import Path

import pytest

import parzax as px

PROMISED = {
    *("Space", "Float", "Int", "Ordinal", "Categorical", "In", "Between", "Observations"),
    *(
        "ImportanceResult",
        "cond_ped_anova",
        "compare",
        "interactions",
        "report",
        "grid_density",
        "pearson_divergence",
    ),
    *("within_regime_variance", "Status", "Problem", "ParzenEstimator"),
    *("tpe", "meta_learn_tpe", "paper_tpe", "c_tpe", "mo_tpe", "optuna_tpe", "paper_meta_learn_tpe"),
    *("optimize", "optimize_many", "Grid", "Encoded", "Importance", "encode"),
    "Counts",
}
# Members that are packages, and what is used of them.
PACKAGES = {
    "acquisition": {"constrained_score", "log_ratio", "log_relative_ratio", "naive_product"},
    "bandwidth": {"constant", "dimension", "hyperopt", "leave_one_out", "neighbours", "optuna_top", "scott"},
    "divergence": {"AbstractDivergence", "Explained", "Pearson", "RegimeCounts"},
    "importance": {
        *("chebyshev", "estimate", "importance", "pareto_losses", "resample"),
        *("cell_starts", "shuffle", "weighted_sum"),
    },
    "results": {"Comparison", "InteractionResult"},
    "pareto": {
        *("attainment_surface", "crowding_distance", "front_status", "hypervolume", "log_hypervolume"),
        *("non_domination_rank", "greedy_hypervolume_order", "AbstractTies", "Crowding", "Hypervolume"),
    },
    "ages": {"AbstractAges", "Ramp"},
    "gamma": {"AbstractGamma", "linear", "optuna", "sqrt"},
    "kernels": {"AbstractKernel", "AbstractProductKernel", "TruncatedNormal"},
    "papers": {"c_tpe", "meta_learn_tpe", "mo_tpe"},
    "merits": {"AbstractMerit", "by_rank", "equal"},
    "meta": {"TaskSimilarity", "task_kernel", "task_similarity", "total_variation"},
    "density": {"AbstractDensities", "AbstractSmoothing", "Smoothing"},
    "samplers": {"AbstractStart", "Best", "Sampler", "State", "Trace", "similarities"},
    "split": {"AbstractSplit", "Split", "SplitRows", "State"},
}
NAMES = sorted(name for name in dir(px) if not name.startswith("_") and callable(getattr(px, name)))


def test_promised_names():
    """Catches a rename of what examples and adapters use."""
    assert set(NAMES) >= PROMISED
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
    packages = {
        name: (home.rpartition(".")[0], home.rpartition(".")[2]) for name, home in px._PACKAGES.items()
    }
    assert seen == packages | {name: (home, name) for name, home in px._HOMES.items()}
    assert set(dir(px)) >= seen.keys() == {name for name in seen if hasattr(px, name)}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = px.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_packages(package):
    member = getattr(px, package)
    assert inspect.getdoc(member)
    assert vars(member).keys() >= PACKAGES[package]
    for name in PACKAGES[package]:
        assert inspect.getdoc(vars(member)[name]), name


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
    "name",
    [
        "cond_ped_anova",
        "encode",
        "grid_density",
        "pearson_divergence",
        "within_regime_variance",
        "Space",
        "optimize",
        "optimize_many",
    ],
)
def test_examples(name):
    """The main entry points show how they are used."""
    assert ">>> " in inspect.getdoc(getattr(px, name))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        px.nonsense
