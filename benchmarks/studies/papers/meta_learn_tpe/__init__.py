"""Meta-learning TPE (arXiv 2212.06751): units of work, rows and figures."""

from benchmarks.studies.papers.meta_learn_tpe.figures import figures as figures
from benchmarks.studies.papers.meta_learn_tpe.rows import rows as rows
from benchmarks.studies.papers.meta_learn_tpe.rows import units as units

TITLE = "Meta-learning TPE, statement by statement"
ABOUT = """\
Statements of arXiv 2212.06751 beside our numbers.

* Ellipsoids have 200 evaluations: with one source (Figure 2, four dimensions, 300 runs or 1000) and with
  several (Figure 12, ten dimensions, 100 to 1000 runs of each number of sources), beside 1000 of TPE.
* Tables are all of the data folder that have two metrics to minimise. Each in turn is the target, with
  the other tables of its benchmark as sources (300 runs of 100 evaluations, or 1000).
* A source log has 100 random rows.
* Ratios are of losses, or of distances from the hypervolume of the true front, with 95 % intervals. A
  ratio that does not agree and whose interval is within 1.15 is *equal within 1.15*; a number within two
  standard errors of an end of its range is *not told apart*. Ranges stand for the paper's words.
* RGPE and TST-R are among the [further statements](further.md)."""
CAPTIONS = {
    "figure_2": "Figure 2: one source on an ellipsoid of four dimensions; naive meta-learning below",
    "figure_2_weights": "Figure 2: the weight of the source",
    "figure_12": "Figure 12: several sources, ten dimensions; medians with quartiles",
    "figures_4_5": "Figures 4, 5: distance from the hypervolume of the true front; means of 300 or 1000 runs",
    "figures_7_8": "Figures 7, 8: 50 % attainment surfaces and the true front",
    "figure_9": "Evaluations so far that are of the top 1 % and 5 %, by optimiser",
    "figures_10_11": "Figures 10, 11: the same as Figures 4, 5 for eta from 1.5 to 5",
}
