# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The live pages of a built site in Chromium: bytes, milliseconds until ready, CPU seconds, milliseconds a keystroke.

    make -C docs html
    python -m benchmarks.live_pages [--site docs/build/html] [--repeats 5]

Each page is opened from its file, in a new window of 1280 x 900 pixels, as often as `repeats` says; medians. The CPU
time is that of the page's own thread until it is ready. In the text of page `next_word`, 50 letters are typed; a
keystroke is the time of the thread's tasks until the second frame after it, drawing among them.
"""

import re
import statistics
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from benchmarks.common import ROOT, new_parser, read_options, write_results
from hf_lecture_models.lab.live.pages import PAGES
from tests.browser import BROWSER

TYPED = "The old woman went over the hill and past the mill"
_READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def open_page(browser: Any, file: Path) -> tuple[Any, dict[str, float]]:
    """Return a view of a page, and what opening it took.

    Raises:
        ValueError: the page did not get ready.
    """
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.goto(file.resolve().as_uri())
    if view.locator("[data-live][data-ready=yes]").count() != 1:
        raise ValueError(f"{file} is not ready after loading: build the site again")
    view.evaluate(_TWO_FRAMES)
    files = {Path(unquote(urlparse(address).path)) for address in asked if address.startswith("file:")}
    return view, {
        "bytes": sum(path.stat().st_size for path in files),
        "bytes of the live page": sum(path.stat().st_size for path in files if "live" in path.parts),
        "ms until ready": view.evaluate(_READY),
        "CPU s": thread_metrics(view)["ThreadTime"],
    }


def thread_metrics(view: Any) -> dict[str, float]:
    """Return Chromium's measures of a page; `ThreadTime` and `TaskDuration` are seconds of its main thread."""
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    found = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return {one["name"]: one["value"] for one in found}


def keystrokes(view: Any) -> list[float]:
    """Return the milliseconds of each of the letters of `TYPED`, typed at the end of the page's text."""
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable")

    def busy() -> float:
        found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return 1000 * found["TaskDuration"]

    text = view.locator("[data-live] textarea").first
    text.fill("")
    times = []
    for letter in TYPED:
        view.evaluate(_TWO_FRAMES)
        before = busy()
        text.press_sequentially(letter)
        view.evaluate(_TWO_FRAMES)
        times.append(busy() - before)
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
                view, costs = open_page(browser, site / "docs" / "live" / f"{name}.html")
                found.append(costs)
                if name == "next_word" and len(found) == repeats:
                    times = keystrokes(view)
                    results["keystroke"] = {"letters": len(times), "median ms": statistics.median(times), "ms": times}
                view.close()
            row = {key: statistics.median(one[key] for one in found) for key in found[0]}
            results["pages"].append({"page": name, "repeats": repeats, **row})
            print(f"{name:10} " + "  ".join(f"{key} {value:,.3f}" for key, value in row.items()), flush=True)
        browser.close()
    print(f"a keystroke: {results['keystroke']['median ms']:.1f} ms")
    return results


def models_of(site: Path) -> list[str]:
    """Return what the page `next_word` says about each model, from the site's weights."""
    weights = (site / "_static" / "live" / "weights" / "next_word.js").read_text(encoding="utf-8")
    pairs = re.findall(r'"title":"([^"]*)","seen":"([^"]*)"', weights)
    return [f"{title}: {seen}" for title, seen in pairs]


def main() -> None:
    """Measure the pages of a built site."""
    parser = new_parser(__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "docs" / "build" / "html", help="the built site")
    parser.add_argument("--repeats", type=int, default=5, help="how often each page is opened")
    options = read_options(parser)
    if not (options.site / "docs" / "live").is_dir():
        parser.error(f"{options.site} has no live pages: make -C docs html")
    write_results("live_pages", measure(options.site, options.repeats) | {"models": models_of(options.site)})


if __name__ == "__main__":
    main()
