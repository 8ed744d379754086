"""Flags with which XLA compiles quickly. Does not import JAX, which reads them when it starts."""

import mmap
from importlib.util import find_spec
from pathlib import Path

# LLVM's optimisation off; XLA's newer emitters of fused loops, which take longer to compile than the older
# ones, off; one LLVM module for each program.
_QUICK = {
    "xla_backend_optimization_level": "0",
    "xla_cpu_use_fusion_emitters": "false",
    "xla_cpu_parallel_codegen_split_count": "1",
}


def _known(flag: str) -> bool:
    """Whether the installed XLA has a flag; it ends the process at one that it has not.

    Names of flags that it once had are in the library too, but not as strings of their own.
    """
    package = find_spec("jaxlib")
    for folder in (package and package.submodule_search_locations) or []:
        for library in Path(folder).glob("*jax_common*"):
            with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                if text.find(b"\0" + flag.encode() + b"\0") >= 0:
                    return True
    return False


def quick_flags() -> str:
    """Those of the flags that the installed XLA has."""
    return " ".join(f"--{flag}={value}" for flag, value in _QUICK.items() if _known(flag))
