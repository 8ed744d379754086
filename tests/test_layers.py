"""The layers: imports point up the list of DESIGN, as the contract in pyproject.toml says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_import_contract():
    """Catches an import that points down, such as a kernel that knows of importance."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.fail("pyproject.toml is not beside tests/")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "KEPT" in result.stdout


def test_optional_packages_load_late():
    """`import parzax` needs neither Optuna, DataFrames nor matplotlib: catches an eager import."""
    code = (
        "import sys, parzax; "
        "late = {'optuna', 'pandas', 'polars', 'narwhals', 'pyarrow', 'matplotlib', 'ConfigSpace', "
        "'jinja2'}; "
        "print(sorted(late & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.slow
def test_global_settings_are_left_alone():
    """Importing and using the library changes no setting of JAX."""
    code = (
        "import jax; before = dict(jax.config.values); import parzax as px, numpy as np; "
        "x = np.linspace(0, 1, 20)[:, None]; "
        "px.cond_ped_anova(px.Observations.from_arrays(px.Space({'x': px.Float(0, 1)}), x, x[:, 0]), "
        "grid=px.Grid(max_cells=3)); "
        "after = dict(jax.config.values); "
        "print([k for k in before if before[k] != after[k]])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.strip() == "[]"
