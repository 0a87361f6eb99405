# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture demo`: a web page on the named models, or on small ones of its own."""

import sys

from hf_lecture_models.lab.demo.page import refuse_missing_gradio, serve
from hf_lecture_models.loading import be_quiet


def run(names: list[str], host: str, port: int | None, browser: bool) -> None:
    """Serve the page until Ctrl-C; a `browser` opens only where a person sits at a terminal.

    Without `names`, small models are trained once; nothing is trained where the page could not be served.
    """
    be_quiet()
    if not names:
        from hf_lecture_models.lab.demo.defaults import default_models

        refuse_missing_gradio()
        names = default_models()
    serve(names, host, port, browser=browser and sys.stdout.isatty())
