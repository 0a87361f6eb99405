# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Each live page in a browser, from a file: wide and on a telephone, light and dark, by axe, with nothing cut off."""

import pytest

from hf_lecture_models.lab.live.pages import PAGES, standalone_page
from hf_lecture_models.lab.live.weights import weights_script
from tests.browser import axe_violations
from tests.live.running import CUT, opened

pytestmark = pytest.mark.slow
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory, live_models):
    """The file of each page, by its name."""
    folder = tmp_path_factory.mktemp("live")
    weights = weights_script(live_models, half=True, examples=["the old cat "])
    for name, page in PAGES.items():
        text = standalone_page(page, weights if page.has_models else None)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1280, "light"),
        pytest.param(390, "light", marks=pytest.mark.nightly),
        pytest.param(1280, "dark", marks=pytest.mark.nightly),
    ],
)
def test_a_page_can_be_read(browser, files, width, scheme):
    problems = {}
    for name, file in files.items():
        with opened(browser, file, width, scheme) as view:
            found = [f"cut: {one}" for one in view.evaluate(CUT)] + axe_violations(view)
            wide = view.evaluate("document.documentElement.scrollWidth")
            found += [f"{wide} pixels wide"] if wide > width else []
        if found:
            problems[name] = found
    assert problems == {}
