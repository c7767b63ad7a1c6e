import re

import pytest

from plait import ScenarioError
from plait.scenarios.presets import PRESETS, Burst, Preset, preset
from plait.scenarios.scenario import from_table


@pytest.mark.parametrize("one", PRESETS.values(), ids=PRESETS.keys())
def test_each_is_a_path_of_a_scenario_and_says_where_its_numbers_come_from(one: Preset) -> None:
    assert from_table({"path": [one.table("mine")]}).paths[0].name == "mine"
    assert one.sources
    assert one.note
    assert all(re.search(r"\d", source) for source in one.sources)  # a year or a standard


def test_the_common_ones_are_there() -> None:
    assert list(PRESETS) == ["dsl", "vdsl", "cable", "ftth", "lte", "5g", "starlink", "geo", "wifi"]


def test_bursts_lose_the_share_that_they_say() -> None:
    table = Burst(share=0.02, packets=10).table()
    bad, good = (float(table[key].removesuffix("%")) / 100 for key in ("to_bad", "to_good"))
    assert bad / (bad + good) == pytest.approx(0.02, rel=1e-5)
    assert 1 / good == pytest.approx(10)


def test_an_unknown_one_is_named_with_the_nearest() -> None:
    assert preset("lte").title == "LTE"
    with pytest.raises(
        ScenarioError,
        match=r"preset 'startlink': unknown \(did you mean starlink\?\); expected one of: dsl, ",
    ):
        preset("startlink")
