# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One picture of each architecture, drawn from its own modules: `python -m docs._site.pictures`.

It writes `docs/architectures/NAME.svg`. `table.py` says which modules a picture shows, in which order; their classes,
shapes and sizes are those of a small model that reads one batch (`recording.py`); `drawing.py` draws them.
"""
