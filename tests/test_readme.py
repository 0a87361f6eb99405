# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Python examples of README and docs run and print what stands beneath them; the links lead to something."""

import re
from pathlib import Path

import pytest

from tests.forked_python import ForkedPython
from tests.printed_commands import run_printed

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The blocks of smoothing.md go on from each other (tests/test_smoothing_page.py); tests/test_errata.py runs the errata.
STANDING_ALONE = [document for document in DOCUMENTS if document.name not in ("smoothing.md", "errata.md")]
EXAMPLES = [
    pytest.param(code, printed, id=f"{document.stem}{number}")
    for document in STANDING_ALONE
    for number, (code, printed) in enumerate(
        re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    )
]


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_examples_print_what_the_document_says(code, printed, tmp_path):
    process = ForkedPython("-c", code, cwd=tmp_path)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out == printed


def test_every_python_example_is_run():
    assert "```python" in README
    assert len(EXAMPLES) == sum(document.read_text(encoding="utf-8").count("```python") for document in STANDING_ALONE)


def test_the_commands_on_own_data_run_one_after_the_other(tmp_path):
    section = README.partition("## Your own data\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^    (hf-lecture .*)$", section, re.M)
    assert len(commands) == 5
    rows = [
        (f"a {word} film, number {number}", label) for number in range(40) for word, label in (("fine", 1), ("dull", 0))
    ]
    (tmp_path / "reviews.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in rows))
    (tmp_path / "texts.txt").write_text("a fine film\na dull film\n")
    shown = []
    for command in commands:
        status, out, err = run_printed(command, tmp_path)
        assert status == 0, err[-2000:]
        shown.append(out)
    assert "next:    hf-lecture train text_classification.yaml" in shown[0]
    assert "next: hf-lecture predict my_model < texts.txt" in shown[1]
    assert (tmp_path / "errors.csv").read_text().startswith('"gold","predicted"\n'), "it makes no errors on such rows"
    assert [line.partition("\t")[0] for line in shown[3].splitlines()] == ["1", "0"]
    assert (tmp_path / "my_export" / "README.md").is_file()


def test_the_two_commands_are_the_designs():
    commands = [line.strip() for line in README.splitlines() if line.strip().startswith("pip install")]
    assert 'pip install -c constraints.txt -e ".[train]" && hf-lecture quickstart' in commands
    assert 'pip install -c constraints.txt -e ".[dev]" && pytest' in commands


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_to_files(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_every_model_has_its_row_here_and_in_the_lecture_map():
    lecture_map = (ROOT / "docs" / "lecture_map.md").read_text(encoding="utf-8")
    for folder in sorted((ROOT / "hf_lecture_models" / "models").glob("*/")):
        if (folder / f"modeling_{folder.name}.py").is_file():
            assert f"| [page](hf_lecture_models/models/{folder.name}/README.md), [file](" in README, folder.name
            assert f"(../hf_lecture_models/models/{folder.name}/README.md)" in lecture_map, folder.name
