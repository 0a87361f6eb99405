# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture blimp`: a table, a file and a picture."""

import json


def test_blimp(run, folder, tmp_path):
    pair = {"sentence_good": "the cat ran", "sentence_bad": "cat the ran", "field": "syntax"}
    pair |= {"linguistics_term": "binding", "UID": "order"}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "order.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    options = ["--data", tmp_path / "data", "--output", tmp_path / "out"]
    status, out, err = run("blimp", folder, *options)
    assert status == 0
    lines = [line.split() for line in out.splitlines() if line]
    assert ["binding", "100.0", "%"] in lines
    assert ["mean", "of", "1", "paradigms", "100.0", "%"] in lines
    assert "1 of 1  100.0 %  order" in err
    assert (tmp_path / "out" / "blimp.png").stat().st_size > 1000
    assert json.loads(run("blimp", folder, *options, "--json")[1])["pairs"] == 1
    status, _, err = run("blimp", folder, *options, "--text-form", "wikitext")
    assert (status, "remove it or name another folder" in err) == (1, True)
    status, _, err = run("blimp", folder, "--data", tmp_path / "out")
    assert (status, "name the folder of BLiMP's paradigms" in err) == (1, True)
