"""Columns as a data frame of the library that the user has."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from parzax import _checks

BACKENDS = ("pandas", "polars", "pyarrow")


def to_frame(columns: dict[str, np.ndarray], backend: str | None) -> Any:
    """A frame of named columns; without a ``backend`` the first installed one of `BACKENDS`.

    Raises:
        ValueError: for another backend.
        ImportError: without narwhals (the extra ``parzax[dataframe]``), or without the backend.
    """
    backends = BACKENDS if backend is None else (_checks.one_of("backend", backend, BACKENDS),)
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(
            "to_dataframe needs narwhals; install it with pip install 'parzax[dataframe]'."
        ) from error
    data = {name: x.tolist() if x.dtype == object else np.ascontiguousarray(x) for name, x in columns.items()}
    installed: list[Any] = [name for name in backends if find_spec(name) is not None]
    if not installed:
        needed, package = backend or "pandas, polars or pyarrow", backend or "pyarrow"
        raise ImportError(f"to_dataframe needs {needed}; install it with pip install {package}.")
    return nw.from_dict(data, backend=installed[0]).to_native()
