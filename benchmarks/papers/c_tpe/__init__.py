"""c-TPE (arXiv 2211.14411): units of work, rows and figures."""

from benchmarks.papers.c_tpe.figures import figures as figures
from benchmarks.papers.c_tpe.rows import rows as rows
from benchmarks.papers.c_tpe.rows import units as units

TITLE = "c-TPE, statement by statement"
ABOUT = """\
What arXiv 2211.14411 states beside what we find: every table of the folder of data that has thresholds of
size and runtime, constraints on size, runtime or both at the quantiles 0.1 to 0.9, 200 evaluations, 50 seeds.
The paper has nine tables (27 settings at a quantile). A number has its standard error, by resampling the
seeds; outside the range by less than two of them is *not told apart*. A row with a p value names the smallest
relative difference of losses that its test would have seen in 80 % of cases, and where that is more than 10 %
it says *not told apart*. Settings share tables, and for samplers that do not see constraints they share runs:
p values take them for independent, as the paper does. Of Figures 16-18 we have no numbers of the paper's to
set beside ours; Figure 4 is a drawing."""
