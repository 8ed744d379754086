"""Caches of compiled programs that a test has for itself."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


@contextlib.contextmanager
def jax_cache(folder: str | None) -> Iterator[None]:
    """JAX's own cache in a folder, or off, whatever is set outside."""
    before = jax.config.jax_compilation_cache_dir
    try:
        compilation_cache.reset_cache()
        jax.config.update("jax_compilation_cache_dir", folder)
        yield
    finally:
        compilation_cache.reset_cache()
        jax.config.update("jax_compilation_cache_dir", before)


@contextlib.contextmanager
def programs_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Programs are kept in a folder below this one, and JAX's cache is off."""
    monkeypatch.setenv("PARZAX_NO_CACHE", "0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    with jax_cache(None):
        yield folder / "parzax" / "programs"
