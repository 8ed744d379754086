"""Divergences between the target set and the region, one file each; see `AbstractDivergence`."""

from parzax.divergence.density import grid_density as grid_density
from parzax.divergence.divergence import AbstractDivergence as AbstractDivergence
from parzax.divergence.divergence import RegimeCounts as RegimeCounts
from parzax.divergence.explained import Explained as Explained
from parzax.divergence.pearson import Pearson as Pearson
from parzax.divergence.pearson import pearson_divergence as pearson_divergence
