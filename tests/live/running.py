# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scripts of the live pages in node, and the pages in Chromium, as their tests use them."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.lab.live.pages import PAGES, read_script, standalone_page

NODE = shutil.which("node") or shutil.which("nodejs")
# Elements that stick out of the screen, but for those that scroll in an element of their own.
CUT = """() => [...document.querySelectorAll(".live *")].filter(one => {
  const box = one.getBoundingClientRect();
  const scrolls = one.closest(".live-wide, svg, option");
  return box.width && !scrolls && (box.left < -1 || box.right > innerWidth + 1);
}).map(one => one.outerHTML.slice(0, 120))"""


def run_node(folder: Path, scripts: Sequence[str], code: str, data: Any = None) -> Any:
    """Run scripts of the live pages, then `code`, in node; return what the function `main(data)` of `code` returns.

    The test is skipped where node is missing.
    """
    if NODE is None:
        pytest.skip("no node in PATH")
    program = "\n".join([*(read_script(name) for name in scripts), code])
    program += "\nconst input = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
    program += "\nprocess.stdout.write(JSON.stringify(main(input)));\n"
    (folder / "program.js").write_text(program, encoding="utf-8")
    run = subprocess.run(
        [NODE, "program.js"], cwd=folder, input=json.dumps(data), capture_output=True, encoding="utf-8", check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


@contextmanager
def opened(browser: Any, file: Path, width: int = 1280, scheme: str = "light") -> Iterator[Any]:
    """Yield a live page from its file, ready for use; it must raise no error and ask for nothing but files."""
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    view.on("request", lambda request: asked.append(request.url))
    try:
        view.goto(file.resolve().as_uri())  # returns when all scripts have run
        assert view.locator("[data-live][data-ready=yes]").count() == 1, said
        yield view
        assert not said, said
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    finally:
        view.close()


def focused_name(view: Any) -> str | None:
    """Return the name of what has the focus: its label, or its text, or its kind; None for the page itself."""
    name = view.evaluate(
        "(one => one === document.body ? null : one.labels?.[0]?.textContent || one.ariaLabel || one.textContent"
        " || one.tagName)(document.activeElement)"
    )
    return None if name is None else name.strip()


def tab_to(view: Any, name: str) -> None:
    """Press Tab, at most 80 times, until the focus is on an element whose name begins so."""
    for _ in range(80):
        view.keyboard.press("Tab")
        if (focused_name(view) or "").startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def page_file(folder: Path, name: str) -> Path:
    """Write a live page without models as one file, and return its path."""
    file = folder / f"{name}.html"
    file.write_text(standalone_page(PAGES[name]), encoding="utf-8")
    return file


def tab_stops(view: Any) -> list[str]:
    """Return the names of what the key Tab reaches, in its order."""
    view.evaluate("document.activeElement?.blur()")
    names: list[str] = []
    while len(names) < 300:
        view.keyboard.press("Tab")
        name = focused_name(view)
        if name is None:
            break
        names.append(name)
    return names
