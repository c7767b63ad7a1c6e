"""Common access links with their numbers and sources, for `plait init` and `plait advise`.

A preset is one plausible link of its kind, not the mean of all links. `rate` is the rate of the
data's direction, from the network to the home; `back` is that of the other direction. Round-trip
times are those of the empty link to a nearby server. Measure your own link if you can. `sources`
has published numbers. `note` names the numbers that are choices without a measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plait._core import ScenarioError
from plait.support.words import expected


@dataclass(frozen=True, kw_only=True)
class Burst:
    """Losses in bursts: a Gilbert-Elliott chain whose bad state loses every packet.

    `share` is the mean loss, from 0 to 1; `packets` the mean length of a burst.
    """

    share: float
    packets: float

    def table(self) -> dict[str, str]:
        """Return the value of `loss` in scenario files, `{ model = "gilbert-elliott", … }`."""
        to_good = 1 / self.packets
        to_bad = to_good * self.share / (1 - self.share)
        return {"model": "gilbert-elliott", "to_bad": _percent(to_bad), "to_good": _percent(to_good)}


@dataclass(frozen=True, kw_only=True)
class Handovers:
    """Losses at handovers: every `every_s`, for `length_s`, the link loses the share `loss`.

    `loss` is from 0 to 1.
    """

    every_s: float
    length_s: float
    loss: float

    @property
    def share(self) -> float:
        """The mean loss, from 0 to 1."""
        return self.loss * self.length_s / self.every_s

    def table(self, place: float = 0.5) -> dict[str, Any]:
        """Return the keys of scenario files; `place` (0 to 1) shifts the first handover."""
        # Both steps lie inside the period, and the first one after its beginning, in whole ms.
        every, length = round(self.every_s * 1e3), round(self.length_s * 1e3)
        begin = 1 + round(place * (every - length - 2))
        steps = [
            {"at": f"{begin}ms", "loss": _percent(self.loss)},
            {"at": f"{begin + length}ms", "loss": "0%"},
        ]
        return {"loss_steps": steps, "repeat": f"{every / 1e3:g}s"}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A common link; amounts are text with units. Jitter and losses are the data direction's."""

    name: str
    title: str
    rate: str
    back: str
    rtt: str
    queue: str = "bdp"
    jitter: str | None = None
    losses: Burst | Handovers | None = None
    note: str
    sources: tuple[str, ...]

    def table(self, name: str | None = None) -> dict[str, Any]:
        """Return the link as a `[[path]]` of a scenario file, named `name` or like the preset."""
        table: dict[str, Any] = {
            "name": name or self.name,
            "rate": self.rate,
            "rtt": self.rtt,
            "queue": self.queue,
        }
        if self.jitter is not None:
            table["jitter"] = self.jitter
        if isinstance(self.losses, Burst):
            table["loss"] = self.losses.table()
        elif self.losses is not None:
            table |= self.losses.table()
        return table | {"backward": {"rate": self.back}}


FCC = (
    "FCC, Measuring Broadband America, https://www.fcc.gov/general/measuring-broadband-america: mean round trips to a "
    "server in the provider's network of 24 ms (fibre), 32 ms (cable), 49 ms (DSL) in an early report, less later"
)
MICHEL = (
    "Michel, Trevisan, Giordano, Bonaventure, A First Look at Starlink Performance, IMC 2022, "
    "https://blog.apnic.net/2022/11/28/fact-checking-starlinks-performance-figures"
)
KASSEM = (
    "Kassem, Raman, Perino, Sastry, A Browser-side View of Starlink Connectivity, IMC 2022: losses of up to half of "
    "the packets, with handovers"
)
HUSTON = "Huston, Measuring Starlink Protocol Performance, NANOG 92, 2024: a terminal has a satellite for slots of 15 s"
OOKLA = "Ookla, medians of the third quarter of 2021"
HUANG = (
    "Huang et al., A Close Examination of Performance and Power Characteristics of 4G LTE Networks, MobiSys 2012: "
    "medians of 13 Mbit/s down and 6 Mbit/s up"
)
JIANG = "Jiang, Wang, Lee, Rhee, Tackling Bufferbloat in 3G/4G Networks, IMC 2012"
NARAYANAN = (
    "Narayanan et al., A First Look at Commercial 5G Performance on Smartphones, WWW 2020, arXiv:1909.07532: mid-band "
    "far below mmWave, latency little better than that of 4G"
)
XU = "Xu et al., Understanding Operational 5G, SIGCOMM 2020: the link alone can approach 1 Gbit/s"
MOBILE = (
    "Third-Party Assessment of Mobile Performance in the 5G Era, arXiv:2507.18834: six of ten mobile users below "
    "50 Mbit/s, one in twenty regularly below 20 ms"
)
PEI = (
    "Pei et al., WiFi Can Be the Weakest Link of Round Trip Network Latency in the Wild, INFOCOM 2016: more than "
    "20 ms on the wireless hop for more than half of TCP's packets"
)
CHEN = "Chen et al., A Measurement-based Study of MultiPath TCP Performance over Wireless Networks, IMC 2013"

PRESETS: Mapping[str, Preset] = {
    one.name: one
    for one in (
        Preset(
            name="dsl",
            title="ADSL2+",
            rate="16Mbit",
            back="1Mbit",
            rtt="45ms",
            note="a long line of the most common tier; the round trip includes interleaving against noise",
            sources=("ITU-T G.992.5: at most 24 Mbit/s down", FCC),
        ),
        Preset(
            name="vdsl",
            title="VDSL2",
            rate="50Mbit",
            back="10Mbit",
            rtt="20ms",
            note="a common tier, 50/10; the round trip is our choice, between DSL and fibre",
            sources=("ITU-T G.993.2, profile 17a: up to 100 Mbit/s on short lines", FCC),
        ),
        Preset(
            name="cable",
            title="cable, DOCSIS 3",
            rate="200Mbit",
            back="20Mbit",
            rtt="25ms",
            jitter="4ms",
            note="a common tier; the jitter is our choice, from requests and grants every 2 ms",
            sources=(
                "CableLabs DOCSIS 3.0 and 3.1 MAC and upper layer protocols: MAP interval of about 2 ms",
                FCC,
            ),
        ),
        Preset(
            name="ftth",
            title="fibre to the home, GPON",
            rate="300Mbit",
            back="150Mbit",
            rtt="10ms",
            note="a common tier; the round trip is that to a server in the same country",
            sources=("ITU-T G.984: 2.488 Gbit/s down, 1.244 Gbit/s up, shared by up to 64 homes", FCC),
        ),
        Preset(
            name="lte",
            title="LTE",
            rate="30Mbit",
            back="10Mbit",
            rtt="60ms",
            queue="300ms",
            jitter="10ms",
            note="between the medians of 2012 and common rates of today; 300 ms, as base stations have long queues",
            sources=(HUANG, MOBILE, JIANG),
        ),
        Preset(
            name="5g",
            title="5G, mid-band",
            rate="150Mbit",
            back="30Mbit",
            rtt="35ms",
            queue="150ms",
            jitter="8ms",
            note="mid-band with a 4G core; the queue is our choice, between one BDP and that of LTE",
            sources=(NARAYANAN, XU, MOBILE),
        ),
        Preset(
            name="starlink",
            title="Starlink, low orbit",
            rate="100Mbit",
            back="13Mbit",
            rtt="50ms",
            queue="100ms",
            jitter="20ms",
            losses=Handovers(every_s=15, length_s=0.12, loss=0.5),
            note="the jitter spans the middle half of round trips; a handover every 15 s loses half of the packets; "
            "its duration of 120 ms is our choice",
            sources=(
                f"{MICHEL}: median round trip 50 ms, middle half 40 to 60 ms",
                f"{OOKLA}: 87.25 Mbit/s down, 13.54 Mbit/s up, 44 ms",
                KASSEM,
                HUSTON,
            ),
        ),
        Preset(
            name="geo",
            title="geostationary satellite",
            rate="20Mbit",
            back="3Mbit",
            rtt="630ms",
            note="without the proxies of providers",
            sources=(
                f"{OOKLA}, Viasat: 18.75 Mbit/s down, 2.96 Mbit/s up, 629 ms",
                f"{MICHEL}: at least 600 ms by a geostationary satellite",
            ),
        ),
        Preset(
            name="wifi",
            title="Wi-Fi of others, such as a hotspot",
            rate="40Mbit",
            back="20Mbit",
            rtt="30ms",
            queue="100ms",
            jitter="20ms",
            note="a shared cell and the access behind it; the rates are our choice",
            sources=(PEI, CHEN),
        ),
    )
}
"""Presets by name, from the slowest wire to wireless links."""


def preset(name: str) -> Preset:
    """Return the preset of this name.

    Raises:
        ScenarioError: there is no such preset; the message lists all.
    """
    if name not in PRESETS:
        message = f"preset {name!r}: unknown{expected(name, list(PRESETS))}"
        raise ScenarioError(message)
    return PRESETS[name]


def _percent(share: float) -> str:
    # Scenario files take no finer shares.
    return f"{share * 100:.7f}".rstrip("0").rstrip(".") + "%"
