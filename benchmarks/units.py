# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Units of a text (slides Y:311-324): words, morphs, pieces, letters, bytes and pixels; sentences with typing errors.

    OMP_NUM_THREADS=1 HF_LECTURE_DATA=... python -m benchmarks.units [--seconds 150] [--only words bytes]

Each unit gets a Transformer encoder of two blocks of 64 that learns three-way SST from scratch: `lecture_bert` for
texts, `lecture_vit` for pixels. Every training has the same CPU seconds: the seconds of a step are measured first, and
the steps that fit into the budget are made. The weights that are best on the dev set are measured on the test set, once
as it is and once with typing errors.

- Pixels: each sentence is drawn in black on white (Pillow, matplotlib's DejaVu Sans Mono of 8 pixels), its lines of 10
  pixels are wrapped between words, and each square of 10 x 10 pixels, about two letters, is a patch.
- Typing errors: each letter is changed with a probability of 10 %: exchanged with the next letter, left out, doubled,
  or replaced by another one, each equally often, with a fixed seed.
- Morphs: by Morfessor Baseline (Creutz & Lagus 2007), learned from the training words and their frequencies. Unigram
  pieces are the package's own unigram segmentation, which is trained by expectation-maximization and pruned to a number
  of pieces; Morfessor chooses the number itself, by its prior. "boundaries" compares the two on the words of
  the training sentences: precision, recall and F1 of the pieces' inner boundaries, Morfessor's taken as right.
"""

import json
import string
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from transformers.utils.logging import disable_progress_bar

from benchmarks.common import (
    data_folder,
    new_parser,
    read_options,
    read_results,
    refuse_stopped,
    training_record,
    write_results,
)
from hf_lecture_models import UnigramTokenizer
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.images.classification import ImageClassification, ImageClassificationRecipe

FONT_SIZE, LINE_PIXELS, LINES = 8, 10, 13
SIDE = LINE_PIXELS * LINES
TYPOS = 0.1
CALIBRATION_STEPS = 20
LONGEST = 320
"""Positions of the encoders of texts: enough for the bytes of the longest sentence."""
ENCODER = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.1,
}
TRAINING = {"optimizer": "adamw", "learning_rate": 0.001, "weight_decay": 0.01, "batch_size": 32, "warmup_steps": 50}
PIECES = 4_000
TOKENIZERS: dict[str, dict[str, Any]] = {
    "words": {"type": "word", "min_count": 2},
    "morphs (Morfessor)": {"type": "word", "min_count": 2},
    "unigram pieces": {"type": "unigram", "vocab_size": PIECES},
    "byte pairs": {"type": "bpe", "vocab_size": PIECES},
    "letters": {"type": "char"},
    "bytes": {"type": "byte"},
}
PIXELS = "pixels"
UNITS = (*TOKENIZERS, PIXELS)
View = Callable[[str], Any]


def with_typos(text: str, generator: np.random.Generator, share: float = TYPOS) -> str:
    """Return the text with typing errors in this share of its letters.

    >>> with_typos("a good film", np.random.default_rng(0), share=0.5)
    'a ood film'
    """
    typed, letters = [], iter(enumerate(text))
    for index, letter in letters:
        if not letter.isalpha() or generator.random() >= share:
            typed.append(letter)
            continue
        kind = generator.integers(4)
        following = text[index + 1 : index + 2]
        if kind == 0 and following.isalpha():
            typed.append(following + letter)
            next(letters)
        elif kind == 1:
            pass
        elif kind == 2:
            typed.append(2 * letter)
        else:
            typed.append(str(generator.choice(list(string.ascii_lowercase))))
    return "".join(typed)


def draw(text: str) -> np.ndarray:
    """Return a picture of a text, (SIDE, SIDE) bytes, black on white.

    Raises:
        ValueError: the text does not fit into the picture.
    """
    font = ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSansMono.ttf"), FONT_SIZE)
    lines = textwrap.wrap(text, int(SIDE / font.getlength("m")))
    if len(lines) > LINES:
        raise ValueError(f"{text[:40]!r}... takes {len(lines)} lines; a picture has {LINES}")
    picture = Image.new("L", (SIDE, SIDE), 255)
    for row, line in enumerate(lines):
        ImageDraw.Draw(picture).text((0, row * LINE_PIXELS), line, font=font, fill=0)
    return np.asarray(picture)


def learn_morphs(texts: Sequence[str]) -> Any:
    """Return a trained Morfessor Baseline model of the words of these texts."""
    import morfessor

    model = morfessor.BaselineModel()
    counts = Counter(word for text in texts for word in text.split())
    model.load_data([(count, word) for word, count in sorted(counts.items())])
    model.train_batch()
    return model


def in_morphs(text: str, model: Any) -> str:
    """Return the text with blanks between morphs, and + before each that continues a word."""
    return " ".join(" +".join(model.viterbi_segment(word)[0]) for word in text.split())


def read(part: str) -> Rows:
    """Return the sentences of a part of SST with their three classes."""
    path = data_folder() / "sst5" / f"{part}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    columns = {"text": [row["sentence"] for row in rows], "label": [row["label3"] for row in rows]}
    return Rows(columns, [(path.name, len(rows))])


def seen(rows: Rows, view: View, unit: str) -> Rows:
    """Return the rows with each text as the unit's model reads it."""
    column = "image" if unit == PIXELS else "text"
    return Rows({column: [view(text) for text in rows.columns["text"]], "label": rows.columns["label"]}, rows.sources)


def recipe_of(unit: str, epochs: float) -> tuple[Task[Any], Any]:
    """Return the task and the recipe that a unit's model is trained by."""
    fields: dict[str, Any] = TRAINING | {"epochs": epochs, "output_dir": "unused", "mixed_precision": "bf16"}
    if unit == PIXELS:
        model = {"model_type": "lecture_vit", "image_size": SIDE, "patch_size": LINE_PIXELS, "num_channels": 1}
        return ImageClassification(), ImageClassificationRecipe(**fields, model={**model, **ENCODER})
    model = {"model_type": "lecture_bert", "max_position_embeddings": LONGEST, **ENCODER}
    tokenizer = {**TOKENIZERS[unit], "template": "bert"}
    return TextClassification(), TextClassificationRecipe(**fields, tokenizer=tokenizer, model=model)


def measure(unit: str, parts: dict[str, Rows], seconds: float) -> dict[str, Any]:
    """Train the unit's model for so many CPU seconds; return its test accuracy, and what it cost."""
    task, recipe = recipe_of(unit, epochs=1000)
    processor = task.processor(recipe, parts["train"])

    def train(recipe: Any, validation: Rows | None, folder: str) -> Any:
        model = task.model(recipe, processor, parts["train"])
        result = task.train(model, processor, parts["train"], validation, recipe, output_dir=folder, quiet=True)
        refuse_stopped(result)
        return result

    with tempfile.TemporaryDirectory() as folder:
        train(replace(recipe, max_steps=CALIBRATION_STEPS), None, f"{folder}/first")
        record = training_record(Path(folder, "first"))
        steps = max(1, round(seconds * CALIBRATION_STEPS / record["step_cpu_seconds"]))
        every = max(1, steps // 10)
        result = train(replace(recipe, max_steps=steps, evaluate_every=every), parts["dev"], f"{folder}/run")
        record = training_record(Path(folder, "run"))
        model = task.auto_class.from_pretrained(result.folder)
    found = {
        "steps": steps,
        "epochs": round(steps * recipe.batch_size / len(parts["train"]), 1),
        "step_cpu_seconds": round(record["step_cpu_seconds"], 1),
        "parameters": model.num_parameters(),
        "dev": record["best_metric"],
    }
    for name in ("clean", "typos"):
        found[name] = task.evaluate(model, processor, parts[name], recipe)["accuracy"]
    return found | {"tokens": _length_of(model, processor, parts["clean"], unit)}


def _length_of(model: Any, processor: Any, rows: Rows, unit: str) -> float:
    """Return the mean number of positions of an input."""
    if unit == PIXELS:
        return float(model.config.num_patches + 1)
    return float(np.mean([len(processor(text)["input_ids"]) for text in rows.columns["text"]]))


def boundaries(texts: Sequence[str], model: Any) -> dict[str, Any]:
    """Compare the unigram pieces' boundaries within words with Morfessor's."""
    tokenizer = UnigramTokenizer.train(texts, vocab_size=PIECES, progress=False)
    words = Counter(word for text in texts for word in text.split())
    both = pieces = morphs = same = 0
    for word in words:
        offsets = tokenizer(word, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        ours = {start for start, _ in offsets} - {0}
        theirs = set(np.cumsum([len(morph) for morph in model.viterbi_segment(word)[0]])[:-1].tolist())
        both, pieces, morphs = both + len(ours & theirs), pieces + len(ours), morphs + len(theirs)
        same += ours == theirs
    return {
        "words": len(words),
        "precision": both / pieces,
        "recall": both / morphs,
        "f1": 2 * both / (pieces + morphs),
        "equal_words": same / len(words),
        "distinct_morphs": len({morph for word in words for morph in model.viterbi_segment(word)[0]}),
        "unigram_pieces": len(tokenizer),
        "examples": {word: [model.viterbi_segment(word)[0], tokenizer.tokenize(word)] for word in EXAMPLES},
    }


EXAMPLES = ("unforgettable", "filmmakers", "heartbreaking", "predictable", "disappointment")


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=150.0, help="CPU seconds of each training")
    parser.add_argument("--only", nargs="*", default=list(UNITS), choices=UNITS, help="the units to measure")
    options = read_options(parser)
    disable_progress_bar()
    rows = {part: read(part) for part in ("train", "dev", "test")}
    began = time.process_time()
    morphs = learn_morphs(rows["train"].columns["text"])
    results: dict[str, Any] = read_results("units", {})
    results |= {"seconds": options.seconds, "test_sentences": len(rows["test"])}
    results["boundaries"] = boundaries(rows["train"].columns["text"], morphs)
    results["boundaries"]["morfessor_cpu_seconds"] = round(time.process_time() - began, 1)
    views: dict[str, View] = {PIXELS: draw, "morphs (Morfessor)": lambda text: in_morphs(text, morphs)}
    generator = np.random.default_rng(0)
    typed = [with_typos(text, generator) for text in rows["test"].columns["text"]]
    mistyped = Rows({"text": typed, "label": rows["test"].columns["label"]}, rows["test"].sources)
    for unit in options.only:
        view = views.get(unit, str)
        texts = {"train": rows["train"], "dev": rows["dev"], "clean": rows["test"], "typos": mistyped}
        parts = {name: seen(part, view, unit) for name, part in texts.items()}
        results.setdefault("units", {})[unit] = measure(unit, parts, options.seconds)
        print(unit, results["units"][unit], flush=True)
    write_results("units", results)


if __name__ == "__main__":
    main()
