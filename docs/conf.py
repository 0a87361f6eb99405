# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The settings of the site; Sphinx reads the folder that `python -m docs._site.gather` writes."""

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs._site.reference import source_of  # noqa: E402
from hf_lecture_models.version import REPOSITORY_URL, __version__  # noqa: E402

project = "hf_lecture_models"
author = "The hf_lecture_models authors"
copyright = "2026, the hf_lecture_models authors, Apache-2.0"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.linkcode", "docs._site.extension", "docs._site.live"]
root_doc = "index"
smartquotes = False  # they would change the primes of equations
exclude_patterns = ["downloads"]

autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100

nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 5
suppress_warnings = ["myst.header"]  # the glossary's words are headings of the third level

html_theme = "furo"
html_title = "hf_lecture_models"
# What the build makes, such as the weights of the live pages, is beside what the repository has.
BUILT = Path(__file__).parent / os.environ.get("BUILD", "build") / "static"
html_static_path = [str(folder) for folder in (Path(__file__).parent / "_static", BUILT) if folder.is_dir()]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {"navigation_with_keys": True}
if REPOSITORY_URL:
    html_theme_options["footer_icons"] = [
        {"name": "Repository", "url": REPOSITORY_URL, "html": "Repository", "class": ""}
    ]


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of something is on the site; all pages with sources lie in the folder `api`."""
    source = source_of(info["module"], info["fullname"]) if domain == "py" and info["module"] else None
    return None if source is None else f"../{source.replace('.py#', '.py.html#')}"
