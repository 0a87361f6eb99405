# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Flattened code says the same as the package's, in a form that the remote-code loader follows."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest
from transformers import PreTrainedConfig
from transformers.dynamic_module_utils import get_imports, get_relative_import_files

from hf_lecture_models.hub.export import registered_classes
from hf_lecture_models.hub.flatten import flatten, flatten_source
from tests.model_tests import package_models


def write(folder: Path, source: str) -> Path:
    path = folder / "modeling_example.py"
    path.write_text(source, encoding="utf-8")
    return path


def test_only_import_lines_change(tmp_path: Path) -> None:
    source = '''"""Says ü, then imports: from hf_lecture_models.io.files import staged_file."""

from collections.abc import Iterator

import torch
from hf_lecture_models.base.heads.causal_lm import (
    CausalLMHead,  # why
    gather_predicting_states as gather,
)
from hf_lecture_models.base.configuration   import LectureConfig


def later():
    from hf_lecture_models.io.files import staged_folder; x = "from hf_lecture_models.io.files import y"
    return staged_folder
'''
    text, modules = flatten_source(write(tmp_path, source))
    expected = (
        source.replace("from hf_lecture_models.base.heads.causal_lm import (", "from .base_heads_causal_lm import (")
        .replace("from hf_lecture_models.base.configuration   import", "from .base_configuration   import")
        .replace("    from hf_lecture_models.io.files import", "    from .io_travelling_files import")
    )
    assert text == expected
    assert modules == [
        f"hf_lecture_models.{name}" for name in ("base.configuration", "base.heads.causal_lm", "io.travelling_files")
    ]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("import hf_lecture_models.io.files", "instead of `import hf_lecture_models.io.files`"),
        ("from hf_lecture_models.base import files", "hf_lecture_models.base is a package or absent"),
        ("from hf_lecture_models import NGramConfig", "hf_lecture_models is a package or absent"),
        ("from hf_lecture_models.base.no_such import name", "is a package or absent"),
        ("from hf_lecture_models.io.progress import no_progress", "travels in its place, has no no_progress"),
        ("from .configuration_example import ExampleConfig", "for the relative import"),
        ("from ..base.files import staged_file", "for the relative import"),
        ("from . import files", "for the relative import"),
        ("def f():\n    import datasets", "needs the package datasets"),
        ("try:\n    from kenlm import Model\nexcept ImportError:\n    Model = None", "needs the package kenlm"),
        ('"""Example:\n\n    from .example import name\n"""', "an import of example; reword it"),
        ("'''\nimport .example\n'''", "an import of example; reword it"),
        ("x = 1; from hf_lecture_models.io.files import staged_folder", "begin the line"),
        ("from hf_lecture_models.io.files \\\n    import staged_folder", "begin the line"),
        ("from \\\n    hf_lecture_models.io.files import staged_folder", "begin the line"),
    ],
)
def test_what_the_loader_would_misread_is_refused(tmp_path: Path, line: str, fix: str) -> None:
    path = write(tmp_path, f"import torch\n\n{line}\n")
    with pytest.raises(ValueError, match=re.escape(fix)) as error:
        flatten_source(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(error.value))


def test_two_modules_of_one_flat_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = []
    for folder in ("first_place", "second_place"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "modeling_same.py").write_text("class Model: pass\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        classes.append(importlib.import_module(f"{folder}.modeling_same").Model)
    with pytest.raises(ValueError, match=r"both be written to modeling_same\.py"):
        flatten(classes)


def test_code_without_a_file_is_refused() -> None:
    module = type(sys)("typed_at_a_prompt")
    with pytest.raises(ValueError, match="has no file"):
        flatten([type("Model", (), {"__module__": module.__name__})])


@pytest.mark.parametrize(
    "config_class", dict.fromkeys(model.config_class for model in package_models()), ids=lambda cls: cls.__name__
)
def test_the_loader_sees_what_python_sees(config_class: type[PreTrainedConfig], tmp_path: Path) -> None:
    """For every model of the package, with all its heads: all that is imported travels, and nothing else does."""
    classes = registered_classes(config_class)
    code = flatten(classes.values())
    for name, source in code.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    reached: set[str] = set()
    for cls in classes.values():
        start = tmp_path / f"{cls.__module__.rsplit('.', 1)[1]}.py"
        reached |= {start.stem, *(Path(file).stem for file in get_relative_import_files(start))}
    assert reached == set(code)
    assert not [name for name in code if name.startswith(("estimation", "conversion"))]
    for name, source in code.items():
        assert "hf_lecture_models" not in get_imports(tmp_path / f"{name}.py")
        siblings = {node.module for node in ast.walk(ast.parse(source)) if getattr(node, "level", 0) == 1}
        assert siblings <= set(code)
