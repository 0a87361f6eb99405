# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Verbs on an ARPA file without `<unk>`: known words count, and it is said how many words do not."""

from __future__ import annotations

import json

from tests.models.ngram.kenlm_ngram import ORDER, SENTENCES, files_without_unknown


def test_an_arpa_file_without_unknown_word(run, tmp_path):
    files = files_without_unknown(tmp_path)
    status, out, err = run("rank", files["lm.arpa"], "--json", stdin="\n".join(SENTENCES) + "\n")
    ranking = json.loads(out)["ranking"]
    assert [entry["sequence"] for entry in ranking] == ORDER
    assert [entry.get("zeros", 0) for entry in ranking] == [0, 1, 1, 1, 1, 2]
    assert (status, err.count("\n")) == (0, 1)
    assert "words of probability 0 in 5 sentences" in err
    list_ = "".join(f"-1\t{sentence}\n" for sentence in SENTENCES)
    _, out, err = run("rank", files["lm.arpa"], "--scores", "--weight", "1", stdin=list_)
    assert [line.split(maxsplit=5)[-1] for line in out.splitlines()] == ORDER
    assert "words of probability 0 in 5 sentences" in err
    _, out, err = run("surprisal", files["lm.arpa"], stdin="the dog cat\n")
    assert [row.split(",")[6:] for row in out.splitlines()[1:]][1] == ["inf", "1", "True"]
    assert "unknown 1" in err
    _, out, err = run("filter", files["lm.arpa"], "--keep", 0.5, stdin="\n".join(SENTENCES) + "\n")
    assert out == "the cat sat\n"
    assert "5 of probability 0 left out (--measure perplexity_without_unk counts known words alone)" in err
    measure = ["--measure", "perplexity_without_unk", "--keep", 0.5]
    kept = {run("filter", path, *measure, stdin="\n".join(SENTENCES) + "\n")[1] for path in files.values()}
    assert len(kept) == 1
    assert kept.pop().count("\n") == 3
