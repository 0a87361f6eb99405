# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a sharded run has to do beside adding up gradients: Adam, clipping, dropout, evaluation, checkpoints, resume.

`python -m tests.trainer.sharded_runs FOLDER` trains each kind into FOLDER/KIND and resumes it from the checkpoint
before its last one into FOLDER/KIND_resumed; the refusal of a model that cannot be sharded goes to FOLDER/hidden.txt.
`... FOLDER KIND` trains that kind for long, resuming what is there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from hf_lecture_models.trainer.loop import Evaluation, TrainingResult
from tests.interop.small_models import ids_of, small_tokenizer
from tests.trainer.small_runs import TEXTS, make_model, save_time, small_run

# With and without shared word vectors; with weights that are single numbers; with carried state and dropout.
KINDS = {"gpt1": 0.0, "self_attention": 0.0, "recurrent_stream": 0.2}
LONG = {"max_steps": 150, "save_every": 7, "evaluate_every": 50}


def mean_loss(model: Any) -> dict[str, float]:
    ids = torch.tensor(ids_of(TEXTS[6:7], small_tokenizer())[0]["input_ids"])[None]
    return {"loss": model(ids, labels=ids).loss.item()}


def full_run(kind: str, folder: Path, seed: int = 0, **options: Any) -> TrainingResult:
    chosen = {"optimizer": "adamw", "weight_decay": 0.1, "learning_rate": 0.01, "clip_norm": 0.5, "warmup_steps": 2}
    chosen |= {"schedule": "linear", "max_steps": 8, "save_every": 3, "evaluate_every": 4} | options
    model = make_model(kind, seed, dropout=KINDS[kind])
    return small_run(kind, folder, parts=2, model=model, evaluation=Evaluation(mean_loss, "loss"), **chosen)


def main(folder: Path) -> None:
    for kind in KINDS:
        full_run(kind, folder / kind)
        cut = folder / f"{kind}_resumed"
        if torch.distributed.get_rank() == 0:
            shutil.copytree(folder / kind, cut)
            shutil.rmtree(max((cut / "checkpoints").iterdir()))
        torch.distributed.barrier()
        full_run(kind, cut, seed=9, resume=True)
    try:
        model = make_model("bert")
        forward = model.forward
        model.forward = lambda **inputs: SimpleNamespace(loss=forward(**inputs).loss)
        small_run("bert", folder / "hidden", model=model)
    except ValueError as error:
        (folder / "hidden.txt").write_text(str(error))


if __name__ == "__main__":
    save_time()
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        full_run(sys.argv[2], Path(sys.argv[1]), resume=True, **LONG)
    torch.distributed.destroy_process_group()
