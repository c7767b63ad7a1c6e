"""Statistics of a sweep: paired comparisons, intervals, effect sizes, who wins where.

from plait.analysis import analyze
from plait.sweep import read

analyze(read("results/plan"), metrics=["goodput_bps"], baseline="lowest-rtt").document()
"""

from plait.analysis.analysis import Analysis, MetricAnalysis, Part, analyze
from plait.analysis.comparison import AgainstBaseline

__all__ = ["AgainstBaseline", "Analysis", "MetricAnalysis", "Part", "analyze"]
