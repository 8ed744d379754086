from parzax.kernels.bandwidth import scott_on_grid as scott_on_grid
from parzax.kernels.categorical import AitchisonAitkenGrid as AitchisonAitkenGrid
from parzax.kernels.truncated_normal import TruncatedNormalGrid as TruncatedNormalGrid
from parzax.kernels.truncated_normal import prior_on_grid as prior_on_grid
