"""Divergences between the target set and the region, one file each; see `AbstractDivergence`."""

from parzax.divergence.divergence import AbstractDivergence as AbstractDivergence
from parzax.divergence.divergence import RegimeCounts as RegimeCounts
from parzax.divergence.explained import Explained as Explained
from parzax.divergence.pearson import Pearson as Pearson
from parzax.divergence.pearson import pearson_divergence as pearson_divergence
from parzax.divergence.smoothed import Smoothed as Smoothed
from parzax.divergence.smoothing import GridSmoothing as GridSmoothing
from parzax.divergence.smoothing import grid_density as grid_density
