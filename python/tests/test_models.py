import pytest
from hypothesis import given
from hypothesis import strategies as st

import plait

PRINTED = [
    (10, 10, 100, 40),
    (50, 10, 100, 41),
    (10, 50, 100, 39),
    (100, 100, 100, 40),
    (50, 100, 100, 39),
    (150, 50, 100, 40),
    (10, 10, 200, 90),
    (50, 10, 200, 91),
    (10, 50, 200, 89),
    (100, 100, 200, 90),
    (50, 150, 200, 89),
    (150, 50, 200, 90),
]


@pytest.mark.parametrize(("fast", "slow", "rtt", "printed"), PRINTED)
def test_blocking_is_the_printed_one_within_its_precision(
    fast: int, slow: int, rtt: int, printed: int
) -> None:
    paths = [plait.PathModel(f"{fast}Mbit", "20ms"), plait.PathModel(f"{slow}Mbit", f"{rtt}ms")]
    assert abs(plait.max_blocking_ms(paths) - printed) < 1


def test_blocking_by_hand() -> None:
    paths = [plait.PathModel("50Mbit", "20ms"), plait.PathModel(10_000_000, 0.1)]
    assert plait.max_blocking_ms(paths, "1500B") == pytest.approx(50 + 1.2 - 10 - 0.24)


def test_buffer_of_the_paper_is_275_kb() -> None:
    paths = [plait.PathModel("10Mbit", "20ms"), plait.PathModel("1Mbit", "200ms")]
    assert plait.min_receive_buffer_bytes(paths) == 275_000


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(("1Mbit", "20ms"), ("1Mbit", "100ms"), 5), (("1.5Mbit", "20ms"), ("500kbit", "200ms"), 10 / 3)],
)
def test_asymmetry_of_the_slides(first: tuple[str, str], second: tuple[str, str], expected: float) -> None:
    assert plait.asymmetry([plait.PathModel(*first), plait.PathModel(*second)]) == pytest.approx(expected)


@given(
    st.lists(
        st.tuples(st.integers(1_000, 10**10), st.floats(0, 10, allow_nan=False)).map(
            lambda p: plait.PathModel(*p)
        ),
        min_size=2,
        max_size=8,
    )
)
def test_blocking_of_many_paths_is_that_of_the_worst_pair(paths: list[plait.PathModel]) -> None:
    pairs = [plait.max_blocking_ms([one, other]) for one in paths for other in paths]
    assert plait.max_blocking_ms(paths) == pytest.approx(max(pairs))


@pytest.mark.parametrize(
    "paths",
    [
        [],
        [plait.PathModel("1Mbit", "1ms")],
        [plait.PathModel("1Mbit", "1ms"), plait.PathModel(0, "1ms")],
        [plait.PathModel("1Mbit", "1ms"), plait.PathModel(-1, "1ms")],
        [plait.PathModel("1Mbit", "1ms"), plait.PathModel("1Mbit", float("nan"))],
        [plait.PathModel("1Mbit", "1ms"), plait.PathModel("1ms", "1Mbit")],
    ],
)
def test_bad_paths_are_refused(paths: list[plait.PathModel]) -> None:
    with pytest.raises(plait.ScenarioError):
        plait.max_blocking_ms(paths)
