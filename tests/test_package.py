# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The package as a whole: size budgets, the direction of imports, what an import costs, what is exported."""

import ast
import json
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

import hf_lecture_models

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hf_lecture_models"
SOURCES = [ROOT / "hf_lecture_cli.py", *sorted(PACKAGE.rglob("*.py")), *sorted((ROOT / "training").rglob("*.py"))]

# Non-blank lines with docstrings. An architecture that honestly needs more is named here with the reason.
BUDGETS = {"modeling": 250, "layer": 150, "script": 150, "function": 40, "config_fields": 20}
EXCEPTIONS: dict[str, tuple[int, str]] = {}

# Each folder imports only itself and what stands above it.
LEVELS = [
    {"version"},
    {"io"},
    {"layers", "tokenization"},
    {"base"},
    {"models"},
    {"evaluation", "analysis", "hub"},
    {"pipelines", "trainer", "generation"},
    {"tasks"},
    {"loading"},
    {"ladder", "comparison"},
    {"quickstart", "own_text", "demo"},
    {"cli"},
]


def _non_blank_lines(path: Path) -> int:
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _budget(path: Path) -> int | None:
    relative = path.relative_to(ROOT)
    if str(relative) in EXCEPTIONS:
        return EXCEPTIONS[str(relative)][0]
    if path.name.startswith("modeling_"):
        return BUDGETS["modeling"]
    if relative.parts[1:2] == ("layers",):
        return BUDGETS["layer"]
    return BUDGETS["script"] if relative.parts[0] == "training" else None


@pytest.mark.parametrize("path", [p for p in SOURCES if _budget(p)], ids=lambda p: p.name)
def test_files_stay_within_their_budget(path):
    assert _non_blank_lines(path) <= _budget(path)


def test_functions_stay_within_their_budget():
    too_long = []
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = sum(1 for line in lines[node.lineno - 1 : node.end_lineno] if line.strip())
                if length > BUDGETS["function"]:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert not too_long


def test_configurations_have_few_fields():
    for path in PACKAGE.glob("models/*/configuration_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
                assert len(fields) <= BUDGETS["config_fields"], node.name


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.split(".")[0] == "hf_lecture_models"]


def test_imports_point_one_way():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == "__init__":
            continue
        level = next(i for i, names in enumerate(LEVELS) if parts[0] in names)
        for name in _imports(path):
            target = name.split(".")[1] if "." in name else None
            if target is None:
                continue
            other_model = parts[0] == target == "models" and name.split(".")[2] != parts[1]
            target_level = next(i for i, names in enumerate(LEVELS) if target in names)
            if other_model or target_level > level or (target_level == level and target != parts[0]):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_every_source_file_carries_its_licence():
    for path in [*SOURCES, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert path.stat().st_size == 0 or path.read_text(encoding="utf-8").startswith("# Copyright 2026"), path


_IMPORT_COST = """
import json, sys, time
import torch, transformers.modeling_utils, transformers.processing_utils
before = set(sys.modules)
start = time.process_time()
import hf_lecture_models
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "modules": sorted(set(sys.modules) - before)}))
"""


@pytest.fixture(scope="module")
def import_cost():
    result = subprocess.run([sys.executable, "-c", _IMPORT_COST], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_import_is_silent_and_brings_nothing_heavy(import_cost):
    heavy = {"accelerate", "datasets", "evaluate", "matplotlib", "pyarrow", "tensorboard", "pandas", "sklearn", "yaml"}
    loaded = {name.split(".")[0] for name in import_cost["modules"]}
    assert not loaded & heavy
    assert not {name for name in import_cost["modules"] if name.startswith(("hf_lecture_models.trainer",))}


def test_public_names_are_importable():
    for name in hf_lecture_models.__all__:
        assert hasattr(hf_lecture_models, name)
    assert sorted(hf_lecture_models.__all__) == hf_lecture_models.__all__


def test_registered_classes_are_found_by_other_programs():
    import transformers

    for name in hf_lecture_models.__all__:
        value = getattr(hf_lecture_models, name)
        if isinstance(value, type) and issubclass(value, transformers.PreTrainedModel):
            assert getattr(transformers, name) is value


def test_base_install_needs_little():
    unconditional = {
        r.split(";")[0].split(">")[0].split("<")[0].strip()
        for r in requires("hf-lecture-models")
        if "extra ==" not in r
    }
    assert unconditional == {"torch", "transformers", "numpy"}
