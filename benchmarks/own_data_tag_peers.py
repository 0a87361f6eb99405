# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""spaCy's tagger and entity recognizer, for `own_data`, by the configuration of `spacy init config`.

    python benchmarks/own_data_tag_peers.py tagger|ner FOLDER

It needs no package of this repository (`own_data_peers.py` says what to install). FOLDER holds train.jsonl and
test.jsonl with `tokens` and `tags`. A tenth of the rows selects the weights. Training ends by spaCy's own rule, 1,600
steps without a better score, or after `CPU_SECONDS`, the goal of a model from a file name. The last line of the output
is JSON: the predicted tags of the test rows, and the bytes of the saved model.
"""

import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CPU_SECONDS = 180.0
Row = dict[str, list[str]]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_examples(nlp: Any, rows: list[Row], pipe: str) -> list[Any]:
    """Return spaCy's examples of rows: words, and the same words with tags or entities."""
    from spacy.tokens import Doc
    from spacy.training import Example

    column = "tags" if pipe == "tagger" else "ents"
    return [
        Example(Doc(nlp.vocab, words=row["tokens"]), Doc(nlp.vocab, words=row["tokens"], **{column: row["tags"]}))
        for row in rows
    ]


def batches(examples: list[Any], batcher: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the epoch and a batch of examples, which are in another order in each epoch, without an end."""
    for epoch in itertools.count():
        random.Random(epoch).shuffle(examples)
        for batch in batcher(list(examples)):
            yield epoch, batch


def train(rows: list[Row], pipe: str) -> Any:
    """Return a pipeline with the best weights."""
    import spacy
    from spacy.cli.init_config import init_config
    from spacy.training.loop import create_evaluation_callback, train_while_improving

    began, rows = time.process_time(), random.Random(0).sample(rows, len(rows))
    config = init_config(lang="en", pipeline=[pipe], optimize="efficiency", gpu=False)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    settings = spacy.registry.resolve(nlp.config.interpolate()["training"], schema=spacy.schemas.ConfigSchemaTraining)
    held_out = make_examples(nlp, rows[: len(rows) // 10], pipe)
    examples = make_examples(nlp, rows[len(rows) // 10 :], pipe)
    nlp.initialize(lambda: examples)

    steps = train_while_improving(
        nlp,
        settings["optimizer"],
        batches(examples, settings["batcher"]),
        create_evaluation_callback(nlp, lambda _: held_out, settings["score_weights"]),
        dropout=settings["dropout"],
        accumulate_gradient=1,
        patience=settings["patience"],
        max_steps=settings["max_steps"],
        eval_frequency=settings["eval_frequency"],
        exclude=[],
        annotating_components=[],
        before_update=None,
    )
    best = b""
    for _, facts, is_best in steps:
        if is_best:
            best = nlp.to_bytes()
        if is_best is not None:
            print(facts["step"], facts["score"], file=sys.stderr, flush=True)
        if time.process_time() - began > CPU_SECONDS:
            break
    return nlp.from_bytes(best)


def predicted_tags(document: Any, pipe: str) -> list[str]:
    """Return the tag of each word, for entities as B-X, I-X and O."""
    if pipe == "tagger":
        return [word.tag_ for word in document]
    return [f"{word.ent_iob_}-{word.ent_type_}" if word.ent_type_ else "O" for word in document]


def main() -> None:
    from spacy.tokens import Doc

    pipe, folder = sys.argv[1], Path(sys.argv[2])
    nlp = train(read_rows(folder / "train.jsonl"), pipe)
    path = folder / pipe
    nlp.to_disk(path)
    documents = nlp.pipe([Doc(nlp.vocab, words=row["tokens"]) for row in read_rows(folder / "test.jsonl")])
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(json.dumps({"predictions": [predicted_tags(one, pipe) for one in documents], "bytes": size}))


if __name__ == "__main__":
    main()
