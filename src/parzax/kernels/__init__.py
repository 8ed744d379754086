"""Kernel families and bandwidth rules. Each family is a subclass of `AbstractKernel` in its own file."""

from parzax.kernels import bandwidth as bandwidth
from parzax.kernels.aitchison_aitken import AitchisonAitken as AitchisonAitken
from parzax.kernels.kernel import AbstractKernel as AbstractKernel
from parzax.kernels.kernel import AbstractProductKernel as AbstractProductKernel
from parzax.kernels.open_normal import OpenNormal as OpenNormal
from parzax.kernels.truncated_normal import TruncatedNormal as TruncatedNormal
from parzax.kernels.wrapped_normal import WrappedNormal as WrappedNormal
