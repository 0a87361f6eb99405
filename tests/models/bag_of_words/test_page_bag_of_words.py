# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The model's page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from hf_lecture_models.models.bag_of_words import modeling_bag_of_words


def test_the_lecture_page_runs() -> None:
    """The README's Python blocks, one after the other; printed lines stand behind them as comments."""
    page = (Path(modeling_bag_of_words.__file__).parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), names)
    promised = [line.removeprefix("# ") for block in blocks for line in block.splitlines() if line.startswith("# ")]
    assert printed.getvalue().splitlines() == promised
