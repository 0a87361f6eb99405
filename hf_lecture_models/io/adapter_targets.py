# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where peft puts its adapters in our models when nobody says: `LoraConfig()` without `target_modules`.

peft has a table for each kind of adapter, from the model type to the names of modules. GPT-2 stands in nearly all of
them; a model of ours gets what GPT-2 has there, under its own names. peft is optional and slow to import: its tables
are completed right after it is imported, by whomever.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

_TABLES = "peft.utils.constants"
_names: dict[str, dict[str, str]] = {}


def register_adapter_targets(model_type: str, names: dict[str, str]) -> None:
    """Tell peft what the modules of GPT-2 are called in the models of a type.

    Args:
        names: from GPT-2's name as peft writes it ("c_attn", "mlp.c_proj", "ln_1", "ln_2", "ln_f") to ours.
    """
    _names[model_type] = names
    if _TABLES in sys.modules:
        _complete(sys.modules[_TABLES])
    elif not any(isinstance(finder, _AfterTables) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTables())


class _AfterTables(MetaPathFinder):
    """Finds peft's tables as the other finders do, and completes them once they are loaded."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """None for all other modules, which leaves them to the other finders."""
        if fullname != _TABLES:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                _complete(module)

            loader.exec_module = exec_module
        return spec


def _complete(tables: Any) -> None:
    for table in vars(tables).values():
        if not isinstance(table, dict) or not isinstance(theirs := table.get("gpt2"), list):
            continue
        for model_type, names in _names.items():
            if targets := [names[name] for name in theirs if name in names]:
                table.setdefault(model_type, targets)
