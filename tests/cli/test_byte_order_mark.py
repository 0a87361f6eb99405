# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A byte order mark before the texts changes no answer: of files, compressed files and pipes, for every verb."""

from __future__ import annotations

import gzip

import pytest

TEXTS = "the cat ran\nthe dog saw a cat\n\na dog\n"
VERBS = {
    "score": [],
    "score --stream": ["--stream"],
    "rank": [],
    "surprisal": [],
    "filter": ["--min-perplexity", "0"],
    "generate": ["--max-new-tokens", "3"],
}


@pytest.mark.cases(6, 12)
@pytest.mark.parametrize("form", ["plain", "gzip", "pipe"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_byte_order_mark_changes_nothing(run, folder, tmp_path, verb, form):
    def answer(content):
        if form == "pipe":
            return run(verb.split()[0], folder, *VERBS[verb], stdin=content)
        path = tmp_path / ("texts.txt.gz" if form == "gzip" else "texts.txt")
        path.write_bytes(gzip.compress(content) if form == "gzip" else content)
        return run(verb.split()[0], folder, path, *VERBS[verb])

    status, out, _ = answer(TEXTS.encode())
    assert status == 0
    # What filter keeps is the file that it read, with its mark; the texts that it measures have none.
    mark = "\ufeff" if verb == "filter" else ""
    assert answer(b"\xef\xbb\xbf" + TEXTS.encode())[:2] == (0, mark + out)
