"""Statistics of a sweep, and of a scenario with several seeds.

They are paired comparisons, intervals, and the winner of each region.

from plait.analysis import analyze
from plait.sweep import read

analyze(read("results/plan"), metrics=["goodput_bps"], baseline="lowest-rtt").document()

`comparison` compares schedulers in pairs, `alone` runs with each path alone; `regions` divides the
parameter space. Independent evidence is a point, not a seed, so seeds are averaged first.
`plait.results.metrics` states once which direction of a metric is better.
"""

from plait.analysis.analysis import Analysis, MetricAnalysis, Part, analyze
from plait.analysis.comparison import AgainstBaseline
from plait.analysis.repeated import Repeated, repeat

__all__ = ["AgainstBaseline", "Analysis", "MetricAnalysis", "Part", "Repeated", "analyze", "repeat"]
