import pytest

import plait
from plait.scenarios.units import duration_ns, duration_text, rate_bps, rate_text, size_bytes, size_text


def test_text_and_numbers() -> None:
    assert duration_ns("20ms") == duration_ns(0.02) == 20_000_000
    assert rate_bps("1.5Mbit") == rate_bps(1.5e6) == 1_500_000
    assert size_bytes("35kB") == size_bytes(35_000) == 35_000
    assert size_bytes("64KiB") == 65_536


def test_numbers_are_written_with_units() -> None:
    assert duration_ns(duration_text(0.1)) == 100_000_000
    assert rate_bps(rate_text(2e6)) == 2_000_000
    assert size_bytes(size_text(1500)) == 1500


@pytest.mark.parametrize(
    "value", [-1, float("nan"), float("inf"), True, None, "", "3", "ms", "-3ms", "3 parsecs", []]
)
def test_what_is_no_amount_is_refused(value: object) -> None:
    for read in (duration_ns, rate_bps, size_bytes):
        with pytest.raises(plait.ScenarioError):
            read(value)  # type: ignore[arg-type]
