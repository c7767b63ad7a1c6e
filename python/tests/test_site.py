"""The documentation site builds without warnings, needs no network, and has current numbers."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from playwright.sync_api import Browser

import plait
from plait.support.pages import tables_wanted, values_in

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.fixture(scope="session")
def parts() -> dict[str, ModuleType]:
    """Returns the modules of `docs` that build the site and its pages."""
    sys.path[:0] = [str(DOCS), str(ROOT / "questions")]
    names = (
        "hooks",
        "generated",
        "generated.builders",
        "generated.metrics",
        "generated.present",
        "generated.stub",
        "studies.networks",
        "studies.example",
        "draw",
    )
    return {name: importlib.import_module(name) for name in names}


def executables(messages: str, name: str) -> list[str]:
    """Returns the built programs of this name from messages of cargo."""
    told = map(json.loads, messages.splitlines())
    made = [one for one in told if one["reason"] == "compiler-artifact" and one["target"]["name"] == name]
    return [one["executable"] for one in made]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the site like `make docs`, with warnings as errors.

    `--quiet` would also stop the counting of warnings, so it is not used.
    """
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


class Loaded(HTMLParser):
    """Resources, links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        self.places.add(named.get("id", ""))
        if tag in ("script", "img", "iframe") and "src" in named:
            self.loads.append(named["src"])
        if tag == "link" and named.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.loads.append(named["href"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])


def test_links_lead_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {file: Loaded(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    assert len(pages) > len(PAGES)
    for file, page in pages.items():
        for target in [*page.loads, *page.links]:
            if re.match(r"https?:", target):
                assert target not in page.loads, f"{file.name} loads {target}"
                continue
            path, _, place = target.partition("#")
            if file.name == "404.html" or target.startswith(("data:", "mailto:")):
                continue
            leads = (file.parent / path).resolve() if path else file
            assert leads.exists(), f"{file.relative_to(site)}: {target}: no such file"
            if place and leads.suffix == ".html" and not place.startswith("__"):
                assert place in pages[leads].places, f"{file.relative_to(site)}: {target}: no such place"


def test_marks_do_not_reach_the_reader(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        for mark in ("measured:", "generated:", "value:", "end -->"):
            assert f"<!-- {mark}" not in text, f"{file.relative_to(site)}: {mark}"


def test_generated_pages_have_what_the_code_has(site: Path) -> None:
    scenario = (site / "reference" / "scenario.html").read_text(encoding="utf-8")
    for key in plait.scenario_keys():
        assert f"<code>{key['key']}</code>" in scenario
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name in ("plait run", "plait model blocking", "plait linux build"):
        assert f"<code>{name}</code>" in commands
    python = "".join(
        file.read_text(encoding="utf-8") for file in sorted((site / "reference").glob("python-*.html"))
    )
    for name in plait.__all__:
        assert f"<code>plait.{name}</code>" in python or name in ("gym", "plots")
    for one in plait.schedulers():
        text = (site / "schedulers" / f"{one['name']}.html").read_text(encoding="utf-8")
        for parameter in one["parameters"]:
            assert parameter["name"] in text


def test_what_is_generated_is_current_in_the_repository(parts: dict[str, ModuleType]) -> None:
    generated, stub, builders = parts["generated"], parts["generated.stub"], parts["generated.builders"]
    facts = stub.STUB.read_text(encoding="utf-8")
    assert stub.filled(facts) == facts, "run: make reference"
    assert stub.filled(facts.replace("    srtt: float | None\n", "")) == facts
    fields = builders.FILE.read_text(encoding="utf-8")
    assert builders.filled(fields) == fields, "run: make reference"
    assert builders.filled(fields.replace("    ecn: bool | None = None\n", "")) == fields
    texts = {file.relative_to(ROOT): file.read_text(encoding="utf-8") for file in generated.pages()}
    assert {Path("docs/features.md"), Path("linux/README.md"), Path("docs/papers/index.md")} < set(texts)
    stale = [str(file) for file, text in texts.items() if generated.filled(text) != text]
    assert stale == [], "run: make reference"
    assert generated.filled("<!-- generated: count: domains -->two<!-- end --> domains") != "two domains"


NUMBER = r"(?:six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|[6-9]|[1-9][0-9]+)"
COUNTED = re.compile(
    rf"\b(?:{NUMBER}(?: [a-z]+)? (?:schedulers|protocols|transports|metrics|commands|settings|patches|engines)"
    rf"|(?:two|three|four|five|[2-5]|{NUMBER})(?: [a-z]+)? (?:papers|domains|rules))\b",
    re.IGNORECASE,
)
"""A number beside a noun. Small numbers of schedulers are allowed: texts often name a few."""
OTHER_COUNTS = {"docs/report.md": ["eight schedulers"]}
"""Counts with another meaning: the size of a report for this many schedulers."""


def test_numbers_of_what_there_is_are_generated(parts: dict[str, ModuleType]) -> None:
    """Hand-written counts become wrong with the next scheduler."""
    found = {}
    for file in parts["generated"].pages():
        text = file.read_text(encoding="utf-8")
        text = re.sub(
            r"^<!-- (?:generated|measured): [^\n]+ -->\n.*?^<!-- [^\n]+ -->$", "", text, flags=re.M | re.S
        )
        text = re.sub(r"^( *)(```+).*?^\1\2 *$", "", text, flags=re.M | re.S)
        counts = COUNTED.findall(re.sub(r"<!-- [^\n]+? -->[^\n]*?<!-- end -->", "…", text))
        if counts and file.name != "CHANGELOG.md":
            found[str(file.relative_to(ROOT))] = counts
    assert found == OTHER_COUNTS
    assert COUNTED.findall("seven papers, 17 rules, two domains, thirty schedulers, 34 settings, two schedulers") == [
        "seven papers", "17 rules", "two domains", "thirty schedulers", "34 settings",
    ]  # fmt: skip


def test_what_is_not_there_yet_is_not_there(parts: dict[str, ModuleType]) -> None:
    """The code knows no name in the last column of the table of features."""
    present = parts["generated.present"]
    known = {
        name.lower()
        for names in present.LISTS
        if names != "missing schedulers"
        for name in present.listed(names)
    }
    known |= {one["title"].lower() for one in plait.schedulers()}
    table = (DOCS / "features.md").read_text(encoding="utf-8")
    cells = [line.rstrip("| ").rpartition(" | ")[2] for line in table.splitlines() if line.startswith("| ")][
        1:
    ]
    words = [
        word
        for cell in cells
        for word in re.findall(r"[\w²-]+", re.sub(r"<!--.*?-->|\(.*?\)", "", cell.lower()))
    ]
    assert {"pie", "red", "reles"} < set(words)
    assert {"blest", "cubic", "codel"} < known
    assert sorted(known & set(words)) == []


def test_no_style_and_no_script_asks_for_another_place(site: Path) -> None:
    for file in site.rglob("*.css"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), file.name


def test_every_metric_is_defined(parts: dict[str, ModuleType]) -> None:
    class Lacking:
        """Metrics.

        a, b: one
            and more.
        """

        a: int
        b: int

    metrics = parts["generated.metrics"]
    assert metrics.meanings(Lacking) == {"a": "one and more.", "b": "one and more."}
    Lacking.__annotations__["c"] = int
    with pytest.raises(LookupError, match=r"Lacking: without a definition: \['c'\]"):
        metrics.meanings(Lacking)
    result = plait.run(plait.Scenario(duration="1s", paths=[plait.Path(rate="1Mbit", rtt="20ms")]))
    assert set(result.metrics) == set(metrics.meanings(metrics.CLASSES["connection"]))
    assert set(result.paths[0]) == set(metrics.meanings(metrics.CLASSES["path"]))
    metrics.meanings(metrics.CLASSES["flow"])


def test_links_of_the_repository_are_led_to_pages(parts: dict[str, ModuleType]) -> None:
    led = parts["hooks"].links
    source = "docs/schedulers/daps.md"
    assert led("[a](../../papers/dqs/README.md#x)", source, "schedulers/daps.md") == "[a](../papers/dqs.md#x)"
    assert led("[a](../docs/validation.md)", "linux/README.md", "linux.md") == "[a](validation.md)"
    assert led("[Makefile](../../Makefile)", source, "schedulers/daps.md") == "Makefile"
    assert led("[b](https://a.b) [c](#d)", source, "schedulers/daps.md") == "[b](https://a.b) [c](#d)"
    with pytest.raises(ValueError, match=r"link to 'nowhere.md': no such file"):
        led("[a](nowhere.md)", source, "schedulers/daps.md")
    with pytest.raises(ValueError, match=r"generated 'nothing': unknown; expected one of: scenario keys"):
        parts["generated"].part("nothing")


def test_lists_and_tables_stand_apart_from_paragraphs(parts: dict[str, ModuleType]) -> None:
    spaced = parts["hooks"].spaced
    assert spaced("a\n- b\n- c\n  d\n- e") == "a\n\n- b\n- c\n  d\n- e"
    assert spaced("a\n| b |\n| c |") == "a\n\n| b |\n| c |"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_place_is_empty(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, value in values_in(text).items():
        assert value.strip(), f"value {name!r} is empty; run docs/draw.py"
    for name in tables_wanted(text):
        assert f"<!-- measured: {name} -->\n<!-- end -->" not in text, f"{name!r} is empty; run docs/draw.py"
    starts = r"^ {0,3}<!-- (?:value: |generated: [^\n]*<!-- end -->)"
    assert not re.search(starts, text, re.MULTILINE) or page.parent.name == "questions", (
        "a value at the start of a line ends the paragraph on GitHub"
    )


def test_numbers_are_those_of_fresh_runs(parts: dict[str, ModuleType]) -> None:
    networks = parts["studies.networks"]
    chosen = [network for network in networks.NETWORKS if network.name in ("narrow", "tight")]
    found = networks.Networks.measured(chosen)
    for scheduler in networks.schedulers():
        base = "round-robin" if scheduler == networks.BASE else networks.BASE
        page = DOCS / "schedulers" / f"{'options' if '+' in scheduler else scheduler}.md"
        text = page.read_text(encoding="utf-8")
        for network in chosen:
            line = f"| {' | '.join(found.line(network, scheduler, base))} |"
            assert line in text, f"{page.name}: expected {line}; run docs/draw.py schedulers"


def test_values_of_other_pages_are_repeated_as_they_stand(parts: dict[str, ModuleType]) -> None:
    others = parts["draw"].repeated()
    for page in PAGES:
        for name, value in values_in(page.read_text(encoding="utf-8")).items():
            if ": " in name and name.split(": ")[0] in parts["draw"].REPEATED:
                assert others[name] == value, f"{page.name}: {name}; run docs/draw.py"


def test_sentences_on_the_validation_hold_for_its_regions() -> None:
    """Each claim is compared with the table of regions."""
    highest: dict[str, dict[str, float]] = {}
    kind, room = "", "more than 8 bandwidth-delay products"
    text = (DOCS / "validation.md").read_text(encoding="utf-8")
    for line in text.partition("<!-- measured: regions -->")[2].partition("<!-- end -->")[0].splitlines():
        cells = [cell.strip().replace("**", "") for cell in line.strip("|").split("|")]
        if len(cells) > 8 and cells[2].isdigit():
            kind = cells[0] or kind
            highest.setdefault(kind, {})[cells[1]] = float(cells[4])
            if cells[1] == room:
                assert max(float(cells[3]), float(cells[8])) <= 0.5
    buffers = highest["receive buffer"]
    large = buffers.pop(room)
    assert large < min(buffers.values())
    assert max(large, highest["kinds of impairment"]["0"]) < 6.0, "a few percent"
    assert highest["paths"]["4"] >= 25.0
    reordered = [value for name, value in highest["jitter"].items() if "reordering" in name]
    assert max(buffers.values()) < min(highest["paths"]["4"], *reordered)


def test_the_example_is_the_same_in_both_languages(parts: dict[str, ModuleType]) -> None:
    file = DOCS / "networks" / "tight.toml"
    # The features of `make test-rust`, to reuse its build.
    build = ["cargo", "build", "--locked", "--workspace", "--exclude", "plait-py", "--example", "soonest"]
    built = subprocess.run(
        [*build, "--message-format", "json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (program,) = executables(built.stdout, "soonest")
    done = subprocess.run([program, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    choice = plait.scenarios.scheduler.parse_choice(f"{DOCS / 'examples' / 'soonest.py'}:Soonest")
    own = json.loads(done.stdout)
    ours = plait.run(file, choice)
    assert own["metrics"] == ours.metrics
    assert own["paths"] == ours.paths
    assert ours.metrics["goodput_bps"] > plait.run(file, "lowest-rtt").metrics["goodput_bps"]


OUTSIDE = """() => {
    const outside = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, range = document.createRange();
        if (!text.textContent.trim() || getComputedStyle(text.parentElement).visibility === "hidden") continue;
        range.selectNodeContents(text);
        const box = range.getBoundingClientRect();
        let scrolls = false;
        for (let one = text.parentElement; one; one = one.parentElement)
            scrolls ||= /auto|scroll|hidden/.test(getComputedStyle(one).overflowX);
        if (!scrolls && box.width && box.right > innerWidth + 1) outside.push(text.textContent.trim());
    }
    return outside;
}"""
"""Script that returns the texts beyond the window that no scrolling element contains."""
SHOWN = (
    "index", "quick-start", "quick-start-scheduler", "quick-start-sending", "features", "engines", "deploy",
    "send-file", "rented-server", "own-library-c", "cluster", "advise", "league", "validation",
    "reference/commands", "reference/python", "reference/python-schedulers", "reference/scenario",
    "schedulers/index", "schedulers/daps", "papers/daps-icc14", "questions/asymmetry",
)  # fmt: skip


def test_no_page_is_wider_than_the_window(site: Path, browser: Browser) -> None:
    for width in (390, 1280):
        context = browser.new_context(viewport={"width": width, "height": 844}, offline=True)
        page = context.new_page()
        for name in SHOWN:
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert page.evaluate(OUTSIDE) == [], (name, width)
        page.set_content("<p style='white-space: nowrap'>" + "word " * 400)
        assert page.evaluate(OUTSIDE), "what is outside is found"
        context.close()


def test_the_search_works_from_the_disk(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((site / "schedulers" / "index.html").as_uri())
    # The theme listens to keys. The value that `fill` sets is lost if the search is ready before it.
    page.locator("input[name=query]").press_sequentially("rented server")
    page.wait_for_selector(".md-search-result__link[href*='rented-server.html']", state="attached")
    page.close()
