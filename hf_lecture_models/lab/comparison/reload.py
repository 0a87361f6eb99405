# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Load the saved models in a fresh process as a user would, by Auto classes and pipelines, and use them.

This file, run as a module, is that process: it reads the arguments of `use_saved_models` from standard input as JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline, set_seed
from transformers.utils import logging

from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.io.strict_json import strict_json


def reload_in_fresh_process(folders: dict[str, Path], prompt: str, pairs: list[list[str]]) -> dict[str, Any]:
    """Return the result of `use_saved_models` in a new interpreter.

    Raises:
        RuntimeError: a model could not be loaded or used there.
    """
    task = {"folders": {name: str(path.absolute()) for name, path in folders.items()}, "prompt": prompt, "pairs": pairs}
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "hf_lecture_models.lab.comparison.reload"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"the saved models could not be used in a fresh process:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def use_saved_models(folders: dict[str, str], prompt: str, pairs: list[list[str]]) -> dict[str, Any]:
    """Complete the prompt and rank each of the pairs with every model; `folders` are by the model's name."""
    logging.set_verbosity_error()
    hide_other_bars()
    found: dict[str, Any] = {}
    ranking: Any = "sentence-ranking"  # the stubs of pipeline() list the library's own tasks only
    for name, folder in folders.items():
        model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        generate = pipeline("text-generation", model=model, tokenizer=tokenizer)
        set_seed(0)
        never = None if tokenizer.unk_token_id is None else [tokenizer.unk_token_id]
        written = generate(prompt, max_new_tokens=20, do_sample=True, suppress_tokens=never)
        found[name] = {
            "class": type(model).__name__,
            "completion": written[0]["generated_text"],
            "rankings": pipeline(ranking, model=folder)(pairs) if pairs else [],
        }
    return found


if __name__ == "__main__":
    print(strict_json(use_saved_models(**json.loads(sys.stdin.read()))))
