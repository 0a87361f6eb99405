# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The package as a whole: size budgets, the direction of imports, what an import costs, what is exported."""

import ast
import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
import typing
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest
from transformers import CONFIG_MAPPING, PreTrainedConfig

import hf_lecture_models
from hf_lecture_models.version import REPOSITORY_URL

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hf_lecture_models"
SOURCES = [ROOT / "hf_lecture_cli.py", *sorted(PACKAGE.rglob("*.py")), *sorted((ROOT / "training").rglob("*.py"))]

# Non-blank lines with docstrings. An architecture that honestly needs more is named here with the reason.
BUDGETS = {"modeling": 250, "layer": 150, "script": 150, "function": 40, "config_fields": 20, "with_heads": 26}
EXCEPTIONS: dict[str, tuple[int, str]] = {}

# Each folder imports only itself and what stands above it.
LEVELS = [
    {"version"},
    {"io"},
    {"layers", "tokenization"},
    {"base"},
    {"models"},
    {"evaluation", "analysis", "hub"},
    {"generation", "data", "trainer"},
    {"tasks"},
    {"loading"},
    {"cli"},
    {"lab"},
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


CONFIGURATIONS = sorted(
    {value for value in vars(hf_lecture_models).values() if isinstance(value, type)}
    & set(CONFIG_MAPPING._extra_content.values()),
    key=lambda config_class: config_class.__name__,
)


def _has_heads(config_class: type) -> bool:
    """Whether a model of this configuration does anything else than predict the next token."""
    names = [name for name in hf_lecture_models.__all__ if "For" in name and not name.endswith("ForCausalLM")]
    return any(getattr(getattr(hf_lecture_models, name), "config_class", None) is config_class for name in names)


# Those of published checkpoints, each of which changes what is computed.
MORE_FIELDS = {"TransfoXLConfig": 25, "EfficientTransformerConfig": 27, "NGramConfig": 21}


@pytest.mark.parametrize("config_class", CONFIGURATIONS)
def test_configurations_have_few_fields(config_class):
    """Of their own: what transformers declares for every configuration, and class variables, are not counted."""
    standard = {field.name for field in dataclasses.fields(PreTrainedConfig)}
    kinds = vars(config_class)["__annotations__"]
    fields = {name for name, kind in kinds.items() if typing.get_origin(kind) is not typing.ClassVar} - standard
    budget = BUDGETS["with_heads" if _has_heads(config_class) else "config_fields"]
    assert len(fields) <= MORE_FIELDS.get(config_class.__name__, budget), sorted(fields)


def test_every_configuration_is_public():
    assert len(CONFIGURATIONS) == len(list(PACKAGE.glob("models/*/configuration_*.py"))) > 0


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.split(".")[0] == "hf_lecture_models"]


def _level(name: str) -> int | None:
    return next((level for level, names in enumerate(LEVELS) if name in names), None)


def test_the_folders_are_the_known_ones():
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert files == {"version", "loading"}
    assert files | folders == set().union(*LEVELS)


def test_imports_point_one_way():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        level = _level(parts[0])
        for name in _imports(path):
            target, *rest = name.split(".")[1:] or ("",)
            found = _level(target)
            other_model = parts[0] == target == "models" and rest[:1] != [parts[1]]
            if (
                level is None
                or found is None
                or found > level
                or (found == level and target != parts[0])
                or other_model
            ):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong


def test_nothing_below_the_lab_knows_it():
    """Not by an import and not by its name; `hf_lecture_cli.py` finds the verbs of both."""
    others = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "lab"]
    assert len(others) > 100
    named = [path for path in others if re.search(r"\blab\b", path.read_text(encoding="utf-8"))]
    assert not named


def _modules() -> dict[str, Path]:
    """The files of the package by the names under which they are imported."""
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in files.items()}


def _circle(name: str, imports: dict[str, set[str]], way: tuple[str, ...], done: set[str]) -> tuple[str, ...]:
    """The first circle of imports that begins at the end of a way; () where there is none."""
    if name in way:
        return (*way[way.index(name) :], name)
    if name in done:
        return ()
    found = next((one for other in sorted(imports[name]) if (one := _circle(other, imports, (*way, name), done))), ())
    done.add(name)
    return found


# What has no fixed place: names that a user or a template gives, and what other programs add to a model.
PROBES = {
    "analysis/segmentation.py": {"getattr(backend.model, 'dropout', None)"},  # a model of the tokenizers library
    "hub/export.py": {"getattr(config, 'travels_as', {})"},  # models of transformers are published, too
    "io/compat.py": {"hasattr(model, 'prepare_labels')"},  # any model that transformers' Trainer trains
    "io/optional_packages.py": {"getattr(type(config), 'output_size', None)"},  # any that sentence-transformers loads
    "io/task_file.py": {"getattr(config, '_commit_hash', None)"},  # transformers sets it where the Hub was read
    "lab/studies/dynamic_evaluation.py": {"getattr(model, 'is_quantized', False)"},  # and this where it is True
    "loading.py": {"getattr(config, 'auto_map', None)"},  # and this of a folder with code
    "tasks/core/factories.py": {
        "hasattr(config_class, name)",
        "hasattr(config_class, f'_{name}')",
    },
    "tasks/question_answering/spans.py": {  # what peft and torch.compile put around a model
        "hasattr(model, 'get_base_model')",
        "getattr(model, '_orig_mod', model)",
    },
    "tokenization/pairs.py": {"getattr(config, 'target_tokenizer', None)"},  # saved with any encoder-decoder
}


def _probes(path: Path) -> set[str]:
    """The calls that ask a model or a configuration whether it has an attribute."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"}:
            asks = len(node.args) == 3 or ast.unparse(node.func) == "hasattr"
            if asks and re.search(r"(model|config)(_class)?\b", ast.unparse(node.args[0])):
                found.add(ast.unparse(node))
    return found


def test_models_declare_what_others_ask():
    """`base/traits.py` has the questions, and the answers for models that do not say."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: _probes(path) for name, path in files.items() if name.split("/")[0] not in {"models", "base"}}
    assert {name: probes for name, probes in found.items() if probes} == PROBES


def test_no_files_import_each_other():
    modules = _modules()
    imports = {}
    for name, path in modules.items():
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                wanted |= {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys() or {node.module}
        imports[name] = wanted - {name, "hf_lecture_models"}
    done: set[str] = set()
    assert not [circle for name in sorted(imports) if (circle := _circle(name, imports, (), done))]


def _home(module: str, name: str, modules: dict[str, Path]) -> str:
    """The module that defines what is imported, which an `__init__` may only pass on; "" outside the package."""
    if f"{module}.{name}" in modules:
        return f"{module}.{name}"
    if module in modules and modules[module].name == "__init__.py":
        for node in ast.walk(ast.parse(modules[module].read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and name in (alias.asname or alias.name for alias in node.names):
                return _home(node.module or "", name, modules)
    return module if module in modules else ""


def _closure(start: Path) -> set[Path]:
    """The files that a reader of one file has to follow: what it imports, also inside functions, and so on."""
    modules, found, waiting = _modules(), {start}, [start]
    while waiting:
        for node in ast.walk(ast.parse(waiting.pop().read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = {_home(node.module or "", alias.name, modules) for alias in node.names} - {""}
                new = {modules[name] for name in names} - found
                found |= new
                waiting += new
    return found


# What a training needs: data, rows, batches, steps, checkpoint. Tokenizers, models, formats of files and what a card
# keeps are in registries, which the package fills. The most files, and the most lines with blank ones.
CLOSURES = {
    "training/train_causal_lm.py": (77, 11_800),
    "training/finetune_glue.py": (82, 11_800),
    "training/train_translation.py": (79, 11_400),
    "training/train_word2vec.py": (68, 10_100),
    "hf_lecture_models/models/ngram/estimation_ngram.py": (30, 5_000),
}


@pytest.mark.parametrize("start", CLOSURES)
def test_a_training_needs_few_files(start):
    found = _closure(ROOT / start)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in found)
    files, most = CLOSURES[start]
    assert (len(found) <= files, lines <= most) == (True, True), (len(found), lines)


def test_what_travels_with_a_published_model_imports_no_training():
    pipelines = [*PACKAGE.glob("tasks/*/pipeline.py"), PACKAGE / "evaluation" / "sentence_ranking.py"]
    found = {str(path.relative_to(PACKAGE)) for start in pipelines for path in _closure(start)}
    assert {"tasks/question_answering/answers.py", "tasks/translation/translate.py", "io/task_file.py"} <= found
    training = ("trainer/", "data/", "tasks/core/", "io/recipe.py", "io/runs.py")
    assert not [name for name in found if name.startswith(training) or name.endswith("/task.py")]


def test_scripts_do_not_need_the_terminal():
    for path in (ROOT / "training").rglob("*.py"):
        assert not [name for name in _imports(path) if name.startswith("hf_lecture_models.cli")], path


_BASE_INSTALL = """
import sys
for name in ("accelerate", "datasets", "evaluate", "matplotlib"):
    sys.modules[name] = None  # as if it were not installed
import torch, transformers.generation.utils, transformers.modeling_utils, transformers.processing_utils
before = set(sys.modules)
import hf_lecture_models
brought = set(sys.modules) - before
heavy = {"pyarrow", "tensorboard", "pandas", "sklearn", "yaml"}
assert not heavy & {name.split(".")[0] for name in brought}
assert not [name for name in brought if name.startswith("hf_lecture_models.trainer")]
assert sum(type(finder).__module__.startswith("hf_lecture_models") for finder in sys.meta_path) == 1
from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
from transformers import pipeline
texts = ["a b", "b a"]
tokenizer = WordTokenizer.train(texts, progress=False)
model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
print(evaluate_language_model(model, tokenizer, texts)["tokens"])
print(len(pipeline("sentence-ranking", model=model, tokenizer=tokenizer)(texts)))
import hf_lecture_models.tasks.registry
"""


@pytest.mark.slow
def test_the_base_install_is_enough_and_its_import_is_silent_and_brings_nothing_heavy():
    """`hf-lecture publish --evaluate` measures language models without the extra `train`."""
    command = [sys.executable, "-c", _BASE_INSTALL]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr, result.stdout.split()) == (0, "", ["6", "2"])


def test_every_source_file_carries_its_licence():
    for path in [*SOURCES, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert path.stat().st_size == 0 or path.read_text(encoding="utf-8").startswith("# Copyright 2026"), path


def test_public_names_are_importable():
    for name in hf_lecture_models.__all__:
        assert hasattr(hf_lecture_models, name)
    assert sorted(hf_lecture_models.__all__) == hf_lecture_models.__all__


def test_listing_the_package_shows_public_names_only():
    listed = [name for name in dir(hf_lecture_models) if not (name.startswith("__") and name.endswith("__"))]
    assert listed == [name for name in hf_lecture_models.__all__ if name != "__version__"]
    assert importlib.import_module("hf_lecture_models.models.bert") is hf_lecture_models.models.bert


def _public_api() -> dict[str, object]:
    """The classes and functions of the package's own list."""
    found = {name: getattr(hf_lecture_models, name) for name in hf_lecture_models.__all__}
    return {name: value for name, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)}


@pytest.mark.parametrize("name", _public_api())
def test_what_is_public_shows_an_example(name):
    """As a doctest, which runs with the tests."""
    assert ">>> " in (inspect.getdoc(_public_api()[name]) or "")


def test_registered_classes_are_found_by_other_programs():
    import transformers

    for name in hf_lecture_models.__all__:
        value = getattr(hf_lecture_models, name)
        if isinstance(value, type) and issubclass(value, transformers.PreTrainedModel):
            assert getattr(transformers, name) is value


def test_addresses_are_stated_where_there_are_any():
    """pyproject.toml and the cards read one setting, and neither names an address while it is empty."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    expected = {"Repository": REPOSITORY_URL} if REPOSITORY_URL else None
    assert project.get("urls") == expected


def test_python_versions_of_the_classifiers_are_those_of_torch_and_transformers():
    def versions(package):
        named = metadata(package).get_all("Classifier") or []
        return {name for name in named if name.startswith("Programming Language :: Python :: 3.")}

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {name for name in project["classifiers"] if "Python :: 3." in name}
    assert ours
    assert ours <= versions("torch") & versions("transformers")


def test_base_install_needs_little():
    unconditional = {
        r.split(";")[0].split(">")[0].split("<")[0].strip()
        for r in requires("hf-lecture-models")
        if "extra ==" not in r
    }
    assert unconditional == {"torch", "transformers", "numpy"}
