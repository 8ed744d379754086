"""The only tail arithmetic: normal tails and masses in logarithms, the truncated normal, safe sums."""

from parzax._numerics.exponential import exp2 as exp2
from parzax._numerics.interval import log_normal_mass as log_normal_mass
from parzax._numerics.interval import log_unit_mass as log_unit_mass
from parzax._numerics.rounds import in_two_rounds as in_two_rounds
from parzax._numerics.running import largest_before as largest_before
from parzax._numerics.running import running_count as running_count
from parzax._numerics.sampling import open_uniform as open_uniform
from parzax._numerics.sampling import truncated_normal_quantile as truncated_normal_quantile
from parzax._numerics.sampling import truncated_normal_sample as truncated_normal_sample
from parzax._numerics.sampling import unit_normal_quantile as unit_normal_quantile
from parzax._numerics.sums import cell_sum as cell_sum
from parzax._numerics.sums import divisor as divisor
from parzax._numerics.sums import log_diff_exp as log_diff_exp
from parzax._numerics.sums import masked_logsumexp as masked_logsumexp
from parzax._numerics.sums import total as total
from parzax._numerics.tails import log_ndtr as log_ndtr
from parzax._numerics.tails import log_upper_tail as log_upper_tail
from parzax._numerics.tails import mills_ratio as mills_ratio
from parzax._numerics.tails import unit_cell_tails as unit_cell_tails
from parzax._numerics.tails import upper_tail as upper_tail
from parzax._numerics.truncated import truncated_normal_log_prob as truncated_normal_log_prob
