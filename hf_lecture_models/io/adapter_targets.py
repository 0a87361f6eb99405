# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The modules of our models to which peft adds adapters by default (`LoraConfig()` without `target_modules`).

peft has a table for each kind of adapter, from the model type to the names of modules. Nearly all of them have an entry
for GPT-2; our models get the same modules under their own names. peft is optional and slow to import, so its tables are
completed right after some program has imported it.
"""

from functools import partial
from typing import Any

from hf_lecture_models.io.after_import import after_import

_TABLES = "peft.utils.constants"


def register_adapter_targets(model_type: str, names: dict[str, str]) -> None:
    """Register the names that GPT-2's modules have in the models of a type.

    Args:
        names: from GPT-2's name as peft writes it ("c_attn", "mlp.c_proj", "ln_1", "ln_2", "ln_f") to ours.
    """
    after_import(_TABLES, partial(_complete, model_type, names))


def _complete(model_type: str, names: dict[str, str], tables: Any) -> None:
    for table in vars(tables).values():
        theirs = table.get("gpt2") if isinstance(table, dict) else None
        if isinstance(theirs, list) and (targets := [names[name] for name in theirs if name in names]):
            table.setdefault(model_type, targets)
