# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture export`: a folder with all that a model needs where this package is missing."""

from pathlib import Path

from hf_lecture_models.hub.export import export
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.core.afterwards import next_line
from hf_lecture_models.tasks.registry import task_of


def run(name: str, output: Path, licence: str | None) -> None:
    """Write the folder, and print what it holds and what to type next.

    Raises:
        FileExistsError: the folder is there already, and not empty.
        ValueError, OSError: the model cannot be read, or its code cannot travel.
    """
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise FileExistsError(f"{output} is there already: remove it, or name a new folder")
    model, processor = load_model(name)
    facts = facts_of(name, model, processor)
    export(model, processor, output, facts | {"licence": licence or facts.get("licence")})
    files = [path for path in output.rglob("*") if path.is_file()]
    has_code = any(path.suffix == ".py" for path in files)
    size = sum(path.stat().st_size for path in files)
    print(f"{output}: {len(files)} files, {size:,} bytes: weights, tokenizer, {'code, ' * has_code}card")
    options = ", trust_remote_code=True" if has_code else ""
    print(
        "in Python, with transformers alone: "
        f"{facts['task']['auto_class']}.from_pretrained({str(output)!r}{options}); README.md there has an example"
    )
    if line := next_line(task_of(model), output):
        print(line)
