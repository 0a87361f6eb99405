# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The live pages of a built site in Chromium: bytes, milliseconds until ready, CPU seconds, milliseconds a keystroke.

    make -C docs html
    python -m benchmarks.live_pages [--site docs/build/html] [--repeats 5]

Each page is opened from its file, in a new window of 1280 x 900 pixels, as often as `repeats` says; medians. The CPU
time is that of the page's main thread until it is drawn. In the text of page `next_word`, 50 letters are typed; a
keystroke has the CPU time until the second frame after it, drawing among it.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from benchmarks.common import ROOT, new_parser, read_options, write_results
from hf_lecture_models.lab.live.pages import PAGES
from tests.browser import BROWSER

TYPED = "The old woman went over the hill and past the mill"
_READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Opened:
    """A page that is open, and Chromium's measures of it.

    Attributes:
        costs: what opening it took, by name.
    """

    view: Any
    session: Any
    costs: dict[str, float]

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of the page's main thread since it was opened."""
        found = {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
        return found["TaskDuration"]


def open_page(browser: Any, file: Path) -> Opened:
    """Open a page from its file.

    Raises:
        ValueError: the page did not get ready.
    """
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    session = view.context.new_cdp_session(view)
    # CPU time, which does not depend on what else the machine does. It counts from here.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    view.goto(file.resolve().as_uri())
    if view.locator("[data-live][data-ready=yes]").count() != 1:
        raise ValueError(f"{file} is not ready after loading: build the site again")
    view.evaluate(_TWO_FRAMES)
    opened = Opened(view, session, {})
    files = {Path(unquote(urlparse(address).path)) for address in asked if address.startswith("file:")}
    opened.costs["bytes"] = sum(path.stat().st_size for path in files)
    opened.costs["bytes of the live page"] = sum(path.stat().st_size for path in files if "live" in path.parts)
    opened.costs["ms until ready"] = view.evaluate(_READY)
    opened.costs["CPU s"] = opened.cpu_seconds()
    return opened


def keystrokes(page: Opened) -> list[float]:
    """Return the milliseconds of CPU time of each of the letters of `TYPED`, typed in the page's empty text."""
    text = page.view.locator("[data-live] textarea").first
    text.fill("")
    times = []
    for letter in TYPED:
        page.view.evaluate(_TWO_FRAMES)
        before = page.cpu_seconds()
        text.press_sequentially(letter)
        page.view.evaluate(_TWO_FRAMES)
        times.append(1000 * (page.cpu_seconds() - before))
    return times


def measure(site: Path, repeats: int) -> dict[str, Any]:
    """Return the figures of each page, and of a keystroke in the first."""
    from playwright.sync_api import sync_playwright

    results: dict[str, Any] = {"pages": []}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        results["chromium"] = browser.version
        for name in PAGES:
            found = []
            for _ in range(repeats):
                page = open_page(browser, site / "docs" / "live" / f"{name}.html")
                found.append(page.costs)
                if name == "next_word" and len(found) == repeats:
                    results |= {"keystroke": _summary(keystrokes(page)), "models": models_of(page.view)}
                page.view.close()
            row = {key: statistics.median(one[key] for one in found) for key in found[0]}
            results["pages"].append({"page": name, "repeats": repeats, **row})
            print(f"{name:10} " + "  ".join(f"{key} {value:,.3f}" for key, value in row.items()), flush=True)
        browser.close()
    print(f"a keystroke: {results['keystroke']['median CPU ms']:.1f} ms of CPU time")
    return results


def _summary(times: list[float]) -> dict[str, float]:
    return {"letters": len(times), "median CPU ms": statistics.median(times), "largest CPU ms": max(times)}


def models_of(view: Any) -> list[dict[str, Any]]:
    """Return the models of a page, with what it says that they have seen, and their perplexities."""
    models = view.evaluate("LIVE.models.map(({title, seen}) => ({title, seen}))")
    return [one | {"perplexity": float(one["seen"].partition("perplexity ")[2].split()[0])} for one in models]


def main() -> None:
    """Measure the pages of a built site."""
    parser = new_parser(__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "docs" / "build" / "html", help="the built site")
    parser.add_argument("--repeats", type=int, default=5, help="how often each page is opened")
    options = read_options(parser)
    if not (options.site / "docs" / "live").is_dir():
        parser.error(f"{options.site} has no live pages: make -C docs html")
    write_results("live_pages", measure(options.site, options.repeats))


if __name__ == "__main__":
    main()
