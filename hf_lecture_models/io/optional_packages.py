# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Our models in peft and sentence-transformers, which are optional and slow to import.

Their modules are completed right after some program has imported them.
"""

import sys
from collections.abc import Callable
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

TRANSFORMER_TARGETS = {"c_attn": "qkv_proj", "mlp.c_proj": "down_proj", "ln_1": "attention_norm", "ln_2": "ffn_norm"}
"""The names in our Transformers for `register_adapter_targets`, without the last norm, which not all have."""


def after_import(name: str, complete: Callable[[Any], None]) -> None:
    """Call `complete` with the module `name`: now if it is imported already, else after its import."""
    if name in sys.modules:
        complete(sys.modules[name])
        return
    _FINDER.waiting.setdefault(name, []).append(complete)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Finder(MetaPathFinder):
    """Finds modules as the other finders do, and completes those that something waits for once they are loaded.

    There is one, in `sys.meta_path` while something waits.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callable[[Any], None]]] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return None for all other modules, which leaves them to the other finders."""
        if fullname not in self.waiting:
            return None
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((found for found in others if found is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = partial(self._load, loader.exec_module)
        return spec

    def _load(self, load: Callable[[Any], None], module: Any) -> None:
        load(module)
        for complete in self.waiting.pop(module.__name__, ()):
            complete(module)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)


_FINDER = _Finder()


def register_adapter_targets(model_type: str, names: dict[str, str]) -> None:
    """Register the modules to which peft adds adapters by default (`LoraConfig()` without `target_modules`).

    peft has a table for each kind of adapter, from the model type to the names of modules. Nearly all of them have an
    entry for GPT-2; models of our type get the same modules under their own names.

    Args:
        names: from GPT-2's name as peft writes it ("c_attn", "mlp.c_proj", "ln_1", "ln_2", "ln_f") to ours.
    """
    after_import("peft.utils.constants", partial(_add_targets, model_type, names))


def _add_targets(model_type: str, names: dict[str, str], tables: Any) -> None:
    for table in vars(tables).values():
        theirs = table.get("gpt2") if isinstance(table, dict) else None
        if isinstance(theirs, list) and (targets := [names[name] for name in theirs if name in names]):
            table.setdefault(model_type, targets)


def report_output_size() -> None:
    """Let sentence-transformers read `output_size` of the configurations that have it.

    It takes `config.hidden_size` for the width of every model's states. In several of our models that is another width:
    that of one direction of two, or of a cell whose output is projected.
    """
    after_import("sentence_transformers.base.modules.transformer", _read_output_size)


def _read_output_size(module: Any) -> None:
    theirs = module.Transformer.get_embedding_dimension

    @wraps(theirs)
    def get_embedding_dimension(self: Any) -> int:
        config = self.model.config
        reads_states = self.module_output_name != "sentence_embedding"  # which is `pooler_output`
        if reads_states and isinstance(getattr(type(config), "output_size", None), property):
            return config.output_size
        return theirs(self)

    module.Transformer.get_embedding_dimension = get_embedding_dimension
