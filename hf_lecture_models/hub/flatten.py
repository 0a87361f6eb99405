# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Copy the code of a model into one flat folder, as a repository on the Hub carries it.

transformers loads such code (`trust_remote_code=True`) by copying the class's file and, recursively, the siblings that
a regular expression finds in lines `from .sibling import name`. So each module that a model needs is written beside the
others under a flat name (`layers/masks.py` becomes `layers_masks.py`), only the import lines change, and what the
loader would refuse or misread is refused here, where the author can still fix it.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGE = "hf_lecture_models"
# What the base install brings; the loader asks for everything that a file imports, wherever it stands.
_INSTALLED = frozenset({"torch", "transformers", "numpy", "huggingface_hub", "safetensors", "tokenizers", "tqdm"})
# The loader's own idea of a relative import (transformers 5.23, dynamic_module_utils.get_relative_imports).
_LOADER_IMPORTS = (
    re.compile(r"^\s*import\s+\.(\S+)\s*$", re.MULTILINE),
    re.compile(r"^\s*from\s+\.(\S+)\s+import", re.MULTILINE),
)

TRAVELS_AS = {
    f"{PACKAGE}.{module}": f"{PACKAGE}.{other}"
    for module, other in {
        "base.guards.configuration": "base.travelling_guards",
        "base.guards.model": "base.travelling_guards",
        "evaluation.sentence_ranking": "evaluation.travelling_ranking",
        "io.files": "io.travelling_files",
        "io.progress": "io.travelling_progress",
        "io.saved_json": "io.travelling_json",
        "layers.few_rows": "layers.execution",
        "layers.growing_cache": "layers.travelling_cache",
        "layers.linear_cross_entropy": "layers.travelling_cross_entropy",
        "layers.recurrent_export": "layers.travelling_export",
    }.items()
}
"""Modules that stay in the package -> what every published copy has in their place."""


def flat_name(module: str) -> str:
    """Return the module's name in the flat folder; a model's own files keep theirs.

    >>> flat_name("hf_lecture_models.layers.ngram_trie")
    'layers_ngram_trie'
    >>> flat_name("hf_lecture_models.models.ngram.modeling_ngram")
    'modeling_ngram'
    """
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return parts[-1]
    if parts[1] == "models":
        return "_".join(parts[3:])
    return "_".join(parts[1:])


def flatten(classes: Iterable[type], travels_as: Mapping[str, str] = TRAVELS_AS) -> dict[str, str]:
    """Return the source of every module that the classes need, by flat name (without `.py`).

    Args:
        classes: of models, configurations, processors, pipelines.
        travels_as: modules that are not copied -> what is copied in their place.

    Raises:
        ValueError: a module imports in a form that the remote-code loader cannot follow, or needs a package that the
            base install does not have; the message names file and line.
    """
    waiting = sorted({travels_as.get(cls.__module__, cls.__module__) for cls in classes})
    origins: dict[str, str] = {}
    flat: dict[str, str] = {}
    while waiting:
        module = waiting.pop(0)
        name = flat_name(module)
        if origins.setdefault(name, module) != module:
            raise ValueError(f"{origins[name]} and {module} would both be written to {name}.py; rename one of them")
        if name in flat:
            continue
        flat[name], needed = flatten_source(_file_of(module), travels_as)
        waiting += needed
    return dict(sorted(flat.items()))


def flatten_source(path: Path, travels_as: Mapping[str, str] = TRAVELS_AS) -> tuple[str, list[str]]:
    """Return a file's source with imports of this package rewritten to siblings, and the imported modules.

    Raises:
        ValueError: see `flatten`.
    """
    source = path.read_text(encoding="utf-8")
    imports = _package_imports(ast.parse(source, filename=str(path)), path)
    lines = source.splitlines(keepends=True)
    for node, module in imports:
        _refuse_absent(node, module, travels_as, path)
        # ast counts lines from 1, and columns in bytes of UTF-8.
        line = lines[node.lineno - 1].encode()
        head, statement = line[: node.col_offset].decode(), line[node.col_offset :].decode()
        pattern = rf"\Afrom\s+{re.escape(module)}(?=\s+import\b)"
        rewritten, count = re.subn(pattern, f"from .{flat_name(travels_as.get(module, module))}", statement)
        if not count or head.strip():
            raise _refusal(path, node.lineno, "begin the line with `from module import`, in one piece")
        lines[node.lineno - 1] = head + rewritten
    text, modules = "".join(lines), sorted({travels_as.get(module, module) for _, module in imports})
    _refuse_misreadings(text, set(map(flat_name, modules)), path)
    return text, modules


def _refuse_absent(node: ast.ImportFrom, module: str, travels_as: Mapping[str, str], path: Path) -> None:
    """Raise a ValueError where the file that travels in place of a module lacks a name of it."""
    if module in travels_as:
        parts = ast.parse(_file_of(travels_as[module]).read_text(encoding="utf-8")).body
        known = {part.name for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)}
        known |= {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}
        for lacking in sorted({alias.name for alias in node.names} - known):
            raise _refusal(path, node.lineno, f"{travels_as[module]}, which travels in its place, has no {lacking}")


def _refusal(path: Path, line: int, fix: str) -> ValueError:
    return ValueError(f"{path}:{line}: cannot be copied into a model repository: {fix}")


def _file_of(module: str) -> Path:
    """Return the file of a module of this package, or of an imported module of a user."""
    if module.split(".")[0] == PACKAGE:
        return Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        raise ValueError(f"the code of {module} has no file; define the class in a module of its own and import it")
    return Path(file)


def _package_imports(tree: ast.Module, path: Path) -> list[tuple[ast.ImportFrom, str]]:
    """Return the statements `from hf_lecture_models.x.y import ...`, each with its module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _check_foreign(alias.name, path, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                raise _refusal(path, node.lineno, f"write `from {PACKAGE}.x.y import name` for the relative import")
            if module.split(".")[0] != PACKAGE:
                _check_foreign(module, path, node.lineno)
                continue
            if not _file_of(module).is_file():
                raise _refusal(path, node.lineno, f"import names from a module file; {module} is a package or absent")
            found.append((node, module))
    return found


def _check_foreign(module: str, path: Path, line: int) -> None:
    top = module.split(".")[0]
    if top == PACKAGE:
        raise _refusal(path, line, f"write `from {PACKAGE}.x.y import name` instead of `import {module}`")
    if top not in _INSTALLED and top not in sys.stdlib_module_names:
        raise _refusal(
            path, line, f"it needs the package {top}, which the base install does not bring; import it elsewhere"
        )


def _refuse_misreadings(text: str, siblings: set[str], path: Path) -> None:
    """Raise a ValueError where the loader sees an import that Python does not see."""
    for pattern in _LOADER_IMPORTS:
        for match in pattern.finditer(text):
            if match[1] not in siblings:
                line = text.count("\n", 0, match.start(1)) + 1
                raise _refusal(path, line, f"the loader would take this text for an import of {match[1]}; reword it")
