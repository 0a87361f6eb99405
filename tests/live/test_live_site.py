# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The live pages on the site: built by Sphinx with the site's settings and opened from their files, light and dark."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs._site.live_models import write_weights
from hf_lecture_models.lab.live.pages import PAGES
from tests.browser import axe_violations
from tests.live.running import CUT, opened

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
# The site's settings, for a site of the live pages alone; the pages that they link are not on it.
_SETTINGS = 'from docs.conf import *\n\nroot_doc = "README"\nsuppress_warnings = ["myst", "toc"]\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a site of the live pages alone; its models have hardly been trained."""
    pytest.importorskip("furo", reason="the site needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    write_weights(folder, steps=2)
    for path in (ROOT / "docs" / "live").glob("*.md"):
        (folder / "source").mkdir(exist_ok=True)
        shutil.copy2(path, folder / "source")
    (folder / "source" / "conf.py").write_text(_SETTINGS, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", folder / "source", folder / "html"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "BUILD": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return folder / "html"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_the_site_can_be_read_in_both_themes(browser, site, width):
    problems = {}
    for name in PAGES:
        with opened(browser, site / f"{name}.html", width) as view:
            colour = "getComputedStyle(document.querySelector('.live')).color"
            found, light = _problems(view), view.evaluate(colour)
            view.locator(".theme-toggle:visible").first.click()
            assert view.evaluate("document.body.dataset.theme") == "dark"
            assert view.evaluate(colour) != light
            problems |= {f"{name}, {theme}": of for theme, of in (("light", found), ("dark", _problems(view))) if of}
    assert problems == {}, "\n".join(f"{name}: {one}" for name, found in problems.items() for one in found)


def _problems(view):
    """Return what axe finds within the live page, and what is cut off."""
    return axe_violations(view, "'.live'") + [f"cut: {one}" for one in view.evaluate(CUT)]
