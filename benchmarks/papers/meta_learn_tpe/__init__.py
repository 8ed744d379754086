"""Meta-learning TPE (arXiv 2212.06751): units of work, rows and figures."""

from benchmarks.papers.meta_learn_tpe.figures import figures as figures
from benchmarks.papers.meta_learn_tpe.rows import rows as rows
from benchmarks.papers.meta_learn_tpe.rows import units as units

TITLE = "Meta-learning TPE, statement by statement"
ABOUT = """\
What arXiv 2212.06751 states beside what we find: ellipsoids with one source (Figure 2, four dimensions, 50
seeds) and with several (Figure 12, ten dimensions, 20 seeds), 200 evaluations; and every table of the
folder of data that has two metrics to minimise, each in turn the target of the others of its benchmark (20
seeds, 100 evaluations). A source log has 100 random rows. A number has its standard error, by resampling
the seeds; one that lies within two of them of an end of its range is *not told apart*. Ranges that the
paper does not print are ours, and said. A row with a p value names the smallest relative difference of
losses that its test would have seen in 80 % of cases. RGPE and TST-R were not run; no number of theirs is
printed."""
CAPTIONS = {
    "figure_2": "Figure 2: one source on an ellipsoid of four dimensions; naive meta-learning below",
    "figure_2_weights": "Figure 2: the weight of the source",
    "figure_12": "Figure 12: several sources, ten dimensions; medians with quartiles",
    "figures_4_5": "Figures 4, 5: hypervolume over that of the true front; means with one standard error",
    "figures_7_8": "Figures 7, 8: 50 % attainment surfaces and the true front",
    "figure_9": "Figure 9: evaluations so far that are of the top 1 % and 5 %",
    "figures_10_11": "Figures 10, 11: the same as Figures 4, 5 for eta from 1.5 to 5",
}
