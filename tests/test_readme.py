# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Python examples of README and docs run and print what stands beneath them; the links lead to something."""

import re
from pathlib import Path

import pytest

from tests.forked_python import ForkedPython

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
