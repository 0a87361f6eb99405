# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The directive `{live} NAME`: the place of a live page on the site, its scripts, and the code that it shows."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from hf_lecture_models.lab.live.pages import PAGES, page_body, page_scripts

logger = logging.getLogger(__name__)
WEIGHTS = "live/weights"
"""The folder of the weights, in the site's `_static`; `NAME.js` is that of a page."""


class Live(SphinxDirective):
    """Shows a live page; its argument is the page's name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the page as HTML; its scripts are loaded from the site's `_static/live`."""
        page = PAGES[self.arguments[0]]
        static = "../" * self.env.docname.count("/") + "_static"
        scripts = [f"{static}/live/{name}" for name in page.scripts]
        if page.has_models:
            if not self._has_weights(page.name):
                text = "the live page %s has no weights: `python -m docs._site.live_models docs/build` writes them"
                logger.warning(text, page.name, location=self.get_location())
            scripts.insert(-1, f"{static}/{WEIGHTS}/{page.name}.js")
        style = f'<link rel="stylesheet" href="{static}/live/live.css">'
        return [nodes.raw("", "\n".join((style, page_body(page), page_scripts(scripts))), format="html")]

    def _has_weights(self, name: str) -> bool:
        return any(Path(folder, WEIGHTS, f"{name}.js").is_file() for folder in self.config.html_static_path)


def setup(app: Any) -> dict[str, Any]:
    """Add the directive to Sphinx."""
    app.add_directive("live", Live)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
