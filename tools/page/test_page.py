"""The page: what it says, that nothing in it comes from elsewhere, and how it looks in a real browser.

The browser is the system's Chromium, driven by playwright; without one those tests are skipped with the reason.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from specproof.certificate import Certificate
from specproof.certification import certify
from specproof.page import command, page, troubled
from specproof.properties.verdict import Verdict
from specproof.subjects import resolve
from specproof.testing import certificate_of, exact, held, refuted

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}
HOSTILE = "<script>alert('x')</script>\"'&--><svg onload=alert(1)>"
MAKERS = {"held": held, "refuted": refuted, "exact": exact}


def undecided() -> Certificate:
    """A subject that cannot be run."""
    return certificate_of("reference:standard").model_copy(
        update={"verdict": Verdict.UNDECIDED, "checks": [_raised(check) for check in exact().checks[:2]]}
    )


def _raised(check: Any) -> Any:
    return replace(
        check, verdict=Verdict.UNDECIDED, reason="the subject raised <b>MemoryError</b>", counterexample=None
    )


def hostile() -> Certificate:
    """A certificate in which every text that a subject can choose is an attack."""
    given = exact()
    subject = given.subject.model_copy(update={"name": HOSTILE, "version": HOSTILE, "options": {"a": HOSTILE}})
    return given.model_copy(update={"subject": subject, "notes": [HOSTILE], "environment": {HOSTILE: HOSTILE}})


class Elements(HTMLParser):
    """Every start tag with its attributes, and the page's text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.mark.parametrize("name", MAKERS)
def test_page_stands_alone(name: str) -> None:
    """No script, no handler, nothing fetched: every reference is a fragment or empty data."""
    found = Elements(page(MAKERS[name]()))
    assert "script" not in {tag for tag, _ in found.tags}
    for tag, attributes in found.tags:
        assert not any(key.startswith("on") for key in attributes), (tag, attributes)
        assert all(str(attributes[key]).startswith(("data:", "#")) for key in ("href", "src") if key in attributes)
    assert "url(" not in page(MAKERS[name]())


def test_verdict_and_weakest_claim_come_first() -> None:
    """The first words of the page; then the sections in the order of the questions they answer."""
    text = " ".join(Elements(page(exact()).partition("<body>")[2]).text.split())
    order = [
        "reference:greedy_block", "FAILED", "Weakest claim violated: block", "What was measured",
        "What failed", "Law against target", "Accepted tokens", "The counterexample", "Record",
    ]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "Certified: no claim is violated." in Elements(page(held())).text
    assert "this is no certificate" in Elements(page(undecided())).text


def test_everything_from_the_subject_is_escaped() -> None:
    """A subject named ``<script>`` is text, also in the title and in the command."""
    text = page(hostile())
    assert "<script" not in text
    assert "<svg onload" not in text
    found = Elements(text)
    assert found.text.count("<script>alert('x')</script>") >= 5
    assert {tag for tag, _ in found.tags} == {tag for tag, _ in Elements(page(exact())).tags}
    assert "<b>MemoryError</b>" in Elements(page(undecided())).text


def test_command_shows_the_counterexample_again() -> None:
    """Quoted for a shell; the name of a subject can be anything."""
    assert command(held()) == "specproof certify plain --evidence sampled --seed 0"
    assert "reference:greedy_block" in command(exact())
    quoted = command(hostile().model_copy(update={"checks": []}))
    assert quoted.startswith("specproof certify '<script>alert('\"'\"'x'")


def test_charts_draw_what_the_certificate_holds() -> None:
    """The law's bars, the path of log E with its limit, accepted tokens with their ceilings."""
    text = page(refuted())
    assert len(re.findall(r'<rect class="seen" x', text)) == 32
    assert re.search(r"refuted above 1[67]\.\d", text)
    assert "log E = " in text
    assert 'class="ceiling"' in page(exact())


def test_reasons_that_say_the_same_are_together() -> None:
    """Failures before what stayed undecided."""
    found = troubled(exact())
    assert found
    assert [verdict for verdict, _, _ in found] == sorted((verdict for verdict, _, _ in found))
    assert sum(len(ids) for _, _, ids in found) == sum(check.verdict is Verdict.FAILED for check in exact().checks)


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_text_has_contrast_in_light_and_dark() -> None:
    """Every colour of words reaches 4.5 to 1 on paper and card, lines of charts 3 to 1."""
    style = (Path(__file__).parent / "style.css.jinja").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for scheme in (light, dark.split("} }")[0]):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for ground in ("paper", "card"):
            for word in ("ink", "soft", "held", "failed", "undecided", "none"):
                assert contrast(colours[word], colours[ground]) >= 4.5, (word, ground)
        for line in ("target", "subject", "second", "third", "fourth"):
            assert contrast(colours[line], colours["paper"]) >= 3, line


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no Chromium on this machine ({', '.join(BROWSERS)})")
    with sync_api.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=path, args=["--no-sandbox"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [held, refuted, hostile, undecided])
def test_in_a_browser_the_verdict_is_in_view(browser: Any, make: Any, size: str, scheme: str, tmp_path: Path) -> None:
    """No console message, no request but the page itself, verdict and weakest claim above the fold, nothing cut off."""
    certificate, (width, height) = make(), SIZES[size]
    path = tmp_path / "certificate.html"
    path.write_text(page(certificate), encoding="utf-8")
    view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    view.on("request", lambda request: asked.append(request.url))
    view.goto(path.as_uri())
    assert said == []
    assert asked == [path.as_uri()]
    for part in ("h1", ".word", "#weakest"):
        box = view.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height, part
    assert view.locator("h1").inner_text().startswith(certificate.subject.name)
    assert view.locator(".word").inner_text() == certificate.verdict
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    paper = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 22, 26)")
    assert [view.locator(f"h{level}").count() > 0 for level in (1, 2)] == [True, True]
    view.close()


def test_subject_of_any_kind_has_a_page() -> None:
    """Also one that is not there: nothing was kept, nothing is drawn."""
    missing = replace(resolve("reference:standard"), unavailable="needs a GPU")
    text = Elements(page(certify(missing))).text
    assert "needs a GPU" in text
    assert "Law against target" not in text
