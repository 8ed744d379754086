"""Kernel families and bandwidth rules. Each family is a subclass of `AbstractKernel` in its own file."""

from parzax.kernels import bandwidth as bandwidth
from parzax.kernels.aitchison_aitken import AitchisonAitken as AitchisonAitken
from parzax.kernels.kernel import AbstractKernel as AbstractKernel
from parzax.kernels.kernel import AbstractPlainKernel as AbstractPlainKernel
from parzax.kernels.kernel import AbstractProductKernel as AbstractProductKernel
from parzax.kernels.kernel import AbstractSmoother as AbstractSmoother
from parzax.kernels.kernel import DenseSmoother as DenseSmoother
from parzax.kernels.kernel import in_grid as in_grid
from parzax.kernels.kernel import uniform_on_grid as uniform_on_grid
from parzax.kernels.truncated_normal import TruncatedNormal as TruncatedNormal
