"""Conditional PED-ANOVA (arXiv 2601.20800): units of work, rows and figures."""

from benchmarks.papers.cond_ped_anova.figures import figures as figures
from benchmarks.papers.cond_ped_anova.rows import rows as rows
from benchmarks.papers.cond_ped_anova.rows import units as units

TITLE = "Conditional PED-ANOVA, statement by statement"
ABOUT = """\
What arXiv 2601.20800 states about its five problems beside what we find: ten seeds of 1000 rows, the stored
logs and fresh ones, levels by 0.01, by our estimator (default) and by the reference's (parity). A number
has its standard error, over the seeds; one that lies within two of them of an end of its range is *not told
apart*. Verdicts are by the default estimator, of the paper's baselines by the reference's. f-ANOVA and SHAP
have the stored logs alone, where there are some."""
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
