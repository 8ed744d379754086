"""Public names: the promised ones exist, and each is documented."""

import inspect

import pytest

import parzax as px

PROMISED = {
    *("Space", "Float", "Int", "Ordinal", "Categorical", "In", "Between", "Observations", "GridEstimator"),
    *("ImportanceResult", "cond_ped_anova", "ped_anova", "grid_density", "pearson_divergence"),
    *("level_counts", "within_regime_variance", "Status"),
}
NAMES = sorted(
    {name for name in dir(px) if not name.startswith("_")}
    & {name for name, value in vars(px).items() if callable(value)}
)


def test_promised_names():
    """Catches a rename of what examples and adapters use."""
    assert set(NAMES) >= PROMISED
    assert px.__version__


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
        "grid_density",
        "level_counts",
        "pearson_divergence",
        "within_regime_variance",
        "Space",
    ],
)
def test_examples(name):
    """The main entry points show how they are used."""
    assert ">>> " in inspect.getdoc(getattr(px, name))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        px.nonsense
