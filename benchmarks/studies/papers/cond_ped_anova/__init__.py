"""Conditional PED-ANOVA (arXiv 2601.20800): units of work, rows and figures."""

from benchmarks.studies.papers.cond_ped_anova.figures import figures as figures
from benchmarks.studies.papers.cond_ped_anova.rows import rows as rows
from benchmarks.studies.papers.cond_ped_anova.rows import units as units

TITLE = "Conditional PED-ANOVA, statement by statement"
ABOUT = """\
Statements of arXiv 2601.20800 about its five problems, beside our numbers.

* Logs have 1000 rows, and levels are in steps of 0.01. The stored logs are ten seeds, as in the paper;
  fresh ones are 200, and they decide. A statement that does not hold on the stored logs differs.
* Ours are two estimators: the default, and that of the reference (parity). Verdicts are by the default;
  for the paper's baselines by the reference's.
* Each number has its standard error over the seeds. A number within two standard errors of an end of
  its range is *not told apart*. Ranges stand for the paper's words; we chose them.
* f-ANOVA and SHAP take 5 to 15 s a log, and run on the stored logs alone. Where ten logs do not tell,
  MDI on the same logs is their control variate, whose mean is known from many fresh ones."""
CAPTIONS = {
    "importance": "Figures 1, 11 to 13: importance against the target quantile",
    "variance": "The within-regime variance, not normalised",
    "standard": "Figure 3: shares by the standard variance, Eq. 17",
    "unweighted": "Figure 4: shares without weights, Eq. 18",
    "baselines": "Figures 2, 9, 10: PED-ANOVA on logs that were made unconditional",
    "regions": "Figure 7: importance in the best three quarters, and in the better half",
    "sizes": "Figure 8: importance from 100, 500 and 1000 rows",
    "times": "Figure 6: seconds of an analysis at one level",
    "more": "Other scenarios of YAHPO: the first five parameters",
    "learners": "Figures 5, 14: the first five parameters of rbv2_super",
}
