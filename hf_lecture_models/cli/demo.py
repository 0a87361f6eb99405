# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture demo`: a web page on one model, or two."""

import sys

from hf_lecture_models.demo.page import serve


def run(names: list[str], host: str, port: int | None, browser: bool) -> None:
    """Serve the page until Ctrl-C; a `browser` opens only where a person sits at a terminal."""
    serve(names, host, port, browser=browser and sys.stdout.isatty())
