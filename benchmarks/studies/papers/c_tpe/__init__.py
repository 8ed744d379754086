"""c-TPE (arXiv 2211.14411): units of work, rows and figures."""

from benchmarks.studies.papers.c_tpe.figures import figures as figures
from benchmarks.studies.papers.c_tpe.rows import rows as rows
from benchmarks.studies.papers.c_tpe.rows import units as units
from benchmarks.studies.papers.c_tpe.settings import CONSTRAINTS

TITLE = "c-TPE, statement by statement"
ABOUT = """\
Statements of arXiv 2211.14411 beside our numbers.

* Problems are all tables of the data folder that have thresholds of size and runtime, with constraints
  on size, runtime or both, at the quantiles 0.1 to 0.9. The paper has nine tables (27 settings at a
  quantile).
* Runs have 200 evaluations and 50 seeds, as in the paper. c-TPE, with and without augmentation, and vanilla
  TPE have 500 where they are compared with each other at 0.1, 0.5 and 0.9.
* Ratios are of absolute percentage losses, with 95 % intervals. One that does not agree and whose
  interval is within 1.15 is *equal within 1.15*.
* Each number has its standard error over the seeds. A number within two standard errors of an
  end of its range is *not told apart*.
* A row with a p value names the smallest relative difference of losses that its test would have seen in
  80 % of cases. If that is more than 10 % the row is *not told apart*.
* Settings share tables, and runs too for samplers that do not see constraints. p values take them for
  independent, as the paper does.
* NEI is `qLogNoisyExpectedImprovement` of BoTorch on two of the tables, with ten runs. It starts with 10
  random rows. A `SingleTaskGP` of loss and constraint has the losses as they are, as in the authors' code,
  and is fitted at every fifth evaluation. Candidates are 500 random rows and the neighbours of the best
  three. The authors' repository asks for Ax 0.2.2 and leaves the choice of a method to it. By the rules of
  that release (`choose_generation_strategy`) it draws a Sobol sequence, and fits no model, on the spaces of
  HPOlib, NAS-Bench-201, CIFAR10A and CIFAR10B. So our NEI is another method than the paper's.
* We have no numbers from the paper for Figures 16 to 18. Figure 4 is a drawing. Ranges stand for the
  paper's words."""
CAPTIONS = {
    "figure_2": "Figure 2: scores of c-TPE and of the naive product, 200 random rows",
    "figure_3": "Figure 3: evaluations of one run, by the overlap of both discs",
    "unconstrained": "Best loss without constraints, means with one standard error",
    "figure_5": "Figure 5, counted: evaluations so far that are better than the oracle and infeasible",
    "figure_6": "Figure 6: what knowledge augmentation adds to the share of feasible suggestions",
}
for _kind in CONSTRAINTS:
    CAPTIONS[f"losses_{_kind}"] = f"Figures 1, 7-9, 13-15: absolute percentage loss, {_kind} constrained"
    CAPTIONS[f"ranks_{_kind}"] = f"Figures 16-18: average rank, {_kind} constrained"
