"""The statistics of gates and comparisons, without scipy: launches are the unit, steps within one are diagnostics."""

from stepprof.analyses.statistics.bootstrap import median_error
from stepprof.analyses.statistics.combine import Adjusted, combined, holm
from stepprof.analyses.statistics.floor import noise_floor
from stepprof.analyses.statistics.looks import level_of_look
from stepprof.analyses.statistics.ranks import PermutationP, hodges_lehmann, permutation_p
from stepprof.analyses.statistics.series import Series, describe_series
from stepprof.analyses.statistics.student import t_cdf, t_quantile
from stepprof.analyses.statistics.welch import Shift, one_sided_p, welch

__all__ = [
    "Adjusted",
    "PermutationP",
    "Series",
    "Shift",
    "combined",
    "describe_series",
    "hodges_lehmann",
    "holm",
    "level_of_look",
    "median_error",
    "noise_floor",
    "one_sided_p",
    "permutation_p",
    "t_cdf",
    "t_quantile",
    "welch",
]
