# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The model's page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

from hf_lecture_models.models.recurrent import modeling_recurrent


def test_the_lecture_page_runs() -> None:
    """The README's Python blocks, one after the other; printed lines stand behind them as comments."""
    page = (Path(modeling_recurrent.__file__).parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), names)
    promised = [line.removeprefix("# ") for line in blocks[0].splitlines() if line.startswith("# ")]
    assert printed.getvalue().splitlines() == promised
    assert names["more"].past_key_values.get_seq_length() == names["cache"].get_seq_length() + 2
