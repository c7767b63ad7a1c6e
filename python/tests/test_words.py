import pytest

from plait.support.words import expected, nearest

KNOWN = ("goodput_bps", "app_delay_ms.p95", "app_delay_ms.mean", "retransmissions")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("goodput", "goodput_bps"),
        ("Goodput-BPS", "goodput_bps"),
        ("app_delay_ms.p59", "app_delay_ms.p95"),
        ("app_delay", "app_delay_ms.p95"),
        ("retransmission", "retransmissions"),
        ("xyzzy", None),
        ("", None),
    ],
)
def test_the_word_that_was_meant(word: str, meant: str | None) -> None:
    assert nearest(word, KNOWN) == meant


def test_messages_end_with_it_and_with_all() -> None:
    assert (
        expected("gooput", ["goodput", "delay"])
        == " (did you mean goodput?); expected one of: goodput, delay"
    )
    assert expected("x", ["goodput"]) == "; expected one of: goodput"
    assert expected("x", []) == "; there are none"
