import warnings

import numpy as np
import pytest
from scipy import stats

from plait.statistics.estimate import (
    Estimate,
    bootstrap_mean,
    change_of_mean,
    change_of_pairs,
    mean,
    median,
    median_by_ranks,
    width_for_many,
)


def test_the_mean_has_students_interval() -> None:
    found = mean([1.0, 2.0, 3.0])
    assert found.value == 2
    # t(0.975, 2) = 4.3027, standard error 1/sqrt(3)
    assert found.interval == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), rel=1e-4)
    assert mean([5.0]).interval is None
    assert mean([5.0, 5.0]).interval is None


@pytest.mark.parametrize("estimator", [mean, median])
def test_ninety_five_of_a_hundred_intervals_contain_the_true_value(estimator) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(3)
    found = [estimator(random.normal(10, 2, 30)).interval for _ in range(300)]
    share = sum(low <= 10 <= high for low, high in found) / len(found)
    assert 0.9 < share < 0.99


def test_the_median_is_the_same_every_time() -> None:
    values = np.random.default_rng(1).random(50).tolist()
    assert median(values) == median(values)
    low, high = median(values).interval or (0, 0)
    assert low < float(np.median(values)) < high


def test_changes_are_of_pairs() -> None:
    """A factor common to all members, here the luck of the seed, does not widen the interval."""
    random = np.random.default_rng(2)
    luck = random.random(20) * 100 + 50
    found = change_of_mean(random.uniform(1.19, 1.21, 20) * luck, luck)
    assert found is not None
    assert found.value == pytest.approx(20, abs=0.5)
    assert found.interval == pytest.approx((20, 20), abs=0.8)
    # The common factor is the only variation: no interval.
    same = change_of_mean((1.2 * luck).tolist(), luck.tolist())
    assert same is not None
    assert same.value == pytest.approx(20)
    assert same.interval is None
    assert change_of_mean([1.0, 2.0], [0.0, 0.0]) is None
    # The base's mean may be zero: any change is possible.
    found = change_of_mean([1.0, 2.0, 2.0], [0.0, 0.0, 1.0])
    assert found is not None
    assert found.value == pytest.approx(400)
    assert found.interval is None


def test_bootstrapped_means_of_skewed_data_contain_the_truth_almost_as_often_as_they_say() -> None:
    random = np.random.default_rng(6)
    intervals = [bootstrap_mean(random.exponential(5, 40)).interval or (0, 0) for _ in range(60)]
    assert 50 <= sum(low <= 5 <= high for low, high in intervals) <= 59


def test_large_data_are_resampled_in_pieces() -> None:
    """Memory is bounded, and the interval is the normal interval within chance."""
    data = np.random.default_rng(7).normal(10, 2, 20_000)
    low, high = bootstrap_mean(data).interval or (0, 0)
    assert (high - low) / 2 == pytest.approx(1.96 * 2 / 20_000**0.5, rel=0.05)


def test_a_change_of_pairs_counts_every_pair_alike() -> None:
    # A doubling in one pair and a halving in another cancel out, regardless of the size.
    assert change_of_pairs([2.0, 500.0], [1.0, 1000.0]).value == pytest.approx(0)
    change = change_of_pairs([1.1, 22.0, 330.0], [1.0, 20.0, 300.0])
    assert change.value == pytest.approx(10)
    assert change.interval is None
    single = change_of_pairs([3.0], [2.0])
    assert single.value == pytest.approx(50)
    assert single.interval is None


def test_a_median_by_ranks_covers_as_it_says() -> None:
    random = np.random.default_rng(1)
    samples = [random.exponential(size=40) for _ in range(400)]
    covered = sum(
        one.low <= np.log(2) <= one.high
        for one in map(median_by_ranks, samples)
        if one.low is not None and one.high is not None
    )
    assert 0.93 < covered / len(samples) < 1
    assert median_by_ranks([3.0]).interval is None
    assert median_by_ranks([2.0, 1.0]).interval is None  # too few for 95 %
    assert median_by_ranks([7.0] * 10) == Estimate(7.0)


def test_intervals_for_many_comparisons_are_wider() -> None:
    # One comparison needs no widening.
    assert width_for_many(1, 10**6) == pytest.approx(1, abs=1e-3)
    assert width_for_many(1, 12) == pytest.approx(1)
    # Student's quantile of 97.5 % is 2.201 for 11 degrees of freedom, that of 99.75 % is 3.497.
    assert width_for_many(10, 12) == pytest.approx(3.497 / 2.201, abs=1e-3)


def test_the_ends_of_a_change_are_where_students_test_begins_to_reject() -> None:
    drawn = np.random.default_rng(5)
    above, below = drawn.normal(10, 1, 6), drawn.normal(9, 1, 6)
    found = change_of_mean(above, below)
    assert found is not None
    assert found.interval is not None
    for end in found.interval:
        assert stats.ttest_1samp(above - (1 + end / 100) * below, 0).pvalue == pytest.approx(0.05)


@pytest.mark.parametrize("count", [3, 5, 8, 30])
@pytest.mark.parametrize("skewed", [False, True])
def test_changes_of_few_pairs_contain_the_truth_as_often_as_they_say(count: int, skewed: bool) -> None:
    """docs/sweeps.md has these numbers; a bootstrap contained it in 75 % of the cases for three."""
    random = np.random.default_rng(1)
    held = []
    for _ in range(2000):
        common, one, other = random.normal(0, 1, (3, count))
        if skewed:
            base, values = np.exp(0.4 * common + 0.3 * one), 0.8 * np.exp(0.4 * common + 0.3 * other)
        else:
            base, values = 100 + 15 * common + 10 * one, 80 + 12 * common + 10 * other
        found = change_of_mean(values, base)
        assert found is not None
        held.append(found.interval is None or found.interval[0] <= -20 <= found.interval[1])
    assert 0.94 <= np.mean(held) <= 0.98


@pytest.mark.parametrize(
    ("values", "base", "has_interval"),
    [
        ([2, 2, 2], [1, 1, 1], False),  # nothing varies
        ([0, 0, 0, 0, 0], [0, 1, 0, 1, 1], False),  # always 0
        ([3, 3, 3, 3, 3], [0, 1, 0, 1, 1], False),  # the base's mean may be 0
        ([3, 3, 3, 3, 3], [1, 1, 0, 1, 1], True),
        ([0, 3], [0, 5], False),
        ([3, 3], [0, 5], False),
        ([3, 4], [5, 5], True),
        ([1, 3], [-1, 5], False),
    ],
)
def test_changes_of_degenerate_data_warn_of_nothing(
    values: list[float], base: list[float], has_interval: bool
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = change_of_mean(values, base)
    assert found is not None
    assert np.isfinite(found.value)
    assert (found.interval is not None) == has_interval
    if found.interval is not None:
        assert np.isfinite(found.interval).all()
