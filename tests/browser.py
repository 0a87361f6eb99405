# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A headless Chromium, and the script of axe-core, for the tests of pages."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def chromium() -> Iterator[Any]:
    """Yield a browser; the test is skipped where playwright or Chromium is missing."""
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("no Chromium in PATH")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def axe_script() -> str:
    """Return the text of axe-core, which the package axe-playwright-python brings."""
    package = pytest.importorskip("axe_playwright_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def axe_violations(view: Any, inside: str = "document") -> list[str]:
    """Return what axe finds in a page, or in the element that the JavaScript `inside` names."""
    if not view.evaluate("typeof axe === 'object'"):
        view.evaluate(axe_script())
    # Without `preload`: from a file it may not fetch the page's style sheets once more, and the console says so.
    found = view.evaluate(f"axe.run({inside}, {{preload: false}})")["violations"]
    return [
        f"{rule['id']}: {node['html'][:150]} {node['failureSummary'][:200]}" for rule in found for node in rule["nodes"]
    ]
