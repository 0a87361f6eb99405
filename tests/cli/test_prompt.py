# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture prompt`: tables, an object, and what is refused."""

import json


def test_prompt(run, folder, tmp_path):
    (tmp_path / "t.yaml").write_text("prompt: 'the {animal}'\nanswers: [ran, saw the dog]\n", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("animal,label\ncat,0\ndog,0\n", encoding="utf-8")
    (tmp_path / "shots.csv").write_text("animal,label\nbird,1\n", encoding="utf-8")
    (tmp_path / "texts.txt").write_text("the cat ran\n", encoding="utf-8")
    own = ["--template", tmp_path / "t.yaml", "--data", tmp_path / "rows.csv"]
    more = ["--unigram", tmp_path / "texts.txt", "--shots-data", tmp_path / "shots.csv", "--shots", 0, "--shots", 1]
    status, out, err = run("prompt", folder, *own, *more, "--output", tmp_path / "out")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line]
    assert lines[0][:4] == ["0", "shots,", "2", "items;"]
    assert lines[1] == ["score", "accuracy", "s.e.", "ties", "unigram", "s.e."]
    assert lines[2] == ["sum", "100.0", "%", "0.0", "0", "100.0", "%", "0.0"]
    assert ["1", "shot,", "2", "items;"] in [line[:4] for line in lines]
    assert json.loads((tmp_path / "out" / "prompting.json").read_text())["rows"][0]["items"] == 2
    status, out, _ = run("prompt", folder, *own, "--json", "--no-generate")
    assert json.loads(out)["rows"][0]["scores"]["sum"]["accuracy"] == 1.0
    for wrong, said in (
        ([*own, "--shots", 1], "there are no rows that 1 shots could be drawn from"),
        (["--template", tmp_path / "none.yaml"], "there is no file"),
        ([], "give a TASK, or --template"),
        (["copa", *own], "give a TASK, or --template"),
        (["coppa"], "'copa', 'balanced_copa'"),
    ):
        status, _, err = run("prompt", folder, *wrong)
        assert (status != 0, said in err) == (True, True), err
