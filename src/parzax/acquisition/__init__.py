from parzax.acquisition.ratios import constrained_score as constrained_score
from parzax.acquisition.ratios import log_ratio as log_ratio
from parzax.acquisition.ratios import log_relative_ratio as log_relative_ratio
from parzax.acquisition.ratios import naive_product as naive_product
