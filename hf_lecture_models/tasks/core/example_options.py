# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The options of transformers' example scripts that stand for fields of recipes. Nothing heavy is imported here."""

ALIASES = {
    "model_name_or_path": "from_pretrained",
    "task_name": "task",
    "dataset_config_name": "dataset_config",
    "train_file": "train_files",
    "validation_file": "validation_files",
    "test_file": "predict_files",
    "max_seq_length": "max_length",
    "num_train_epochs": "epochs",
    "gradient_accumulation_steps": "accumulation_steps",
}
"""The fields of recipes by the options of transformers' example scripts."""
BATCH_SIZE = "per_device_train_batch_size"
EXAMPLE_SWITCHES = frozenset({"do_train", "do_eval", "do_predict"})
EXAMPLE_OPTIONS = EXAMPLE_SWITCHES.union(ALIASES, [BATCH_SIZE])
