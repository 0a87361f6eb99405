# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where peft puts its adapters in our models when nobody says: `LoraConfig()` without `target_modules`.

peft has a table for each kind of adapter, from the model type to the names of modules. GPT-2 stands in nearly all of
them; a model of ours gets what GPT-2 has there, under its own names. peft is optional and slow to import: its tables
are completed right after it is imported, by whomever.
"""

from functools import partial
from typing import Any

from hf_lecture_models.io.after_import import after_import

_TABLES = "peft.utils.constants"


def register_adapter_targets(model_type: str, names: dict[str, str]) -> None:
    """Tell peft what the modules of GPT-2 are called in the models of a type.

    Args:
        names: from GPT-2's name as peft writes it ("c_attn", "mlp.c_proj", "ln_1", "ln_2", "ln_f") to ours.
    """
    after_import(_TABLES, partial(_complete, model_type, names))


def _complete(model_type: str, names: dict[str, str], tables: Any) -> None:
    for table in vars(tables).values():
        theirs = table.get("gpt2") if isinstance(table, dict) else None
        if isinstance(theirs, list) and (targets := [names[name] for name in theirs if name in names]):
            table.setdefault(model_type, targets)
