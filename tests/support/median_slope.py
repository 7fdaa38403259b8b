# SPDX-License-Identifier: Apache-2.0
"""median_slope(values) - what a series grows by from one value to the next: of all pairs the median slope (Theil and Sen), so that single
values that are far off say nothing; 0 for fewer than two values."""
import itertools
import statistics


def median_slope(values):
    slopes = [(b - a) / (j - i) for (i, a), (j, b) in itertools.combinations(enumerate(values), 2)]
    return statistics.median(slopes) if slopes else 0.0
