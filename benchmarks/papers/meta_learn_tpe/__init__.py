"""Meta-learning TPE (arXiv 2212.06751): units of work, rows and figures."""

from benchmarks.papers.meta_learn_tpe.figures import figures as figures
from benchmarks.papers.meta_learn_tpe.rows import rows as rows
from benchmarks.papers.meta_learn_tpe.rows import units as units

TITLE = "Meta-learning TPE, statement by statement"
ABOUT = """\
What arXiv 2212.06751 states beside what we find: ellipsoids with one source (Figure 2, four dimensions, 50
seeds) and with several (Figure 12, ten dimensions, 20 seeds), 200 evaluations; and every table of the folder
of data that has two metrics to minimise, each in turn the target of the others of its benchmark (20 seeds,
100 evaluations). A source log has 100 random rows. A number has its standard error, by resampling the seeds;
outside the range by less than two of them is *not told apart*. Ranges that the paper does not print are ours,
and said. A row with a p value names the smallest relative difference of losses that its test would have seen
in 80 % of cases. Curves of RGPE and TST-R are not ours to run."""
