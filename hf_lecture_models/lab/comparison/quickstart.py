# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture quickstart`: language models, trained and compared on text that comes with Python.

The text is the language reference in the interpreter's own `pydoc_data.topics`, so it needs no download, and the
figures depend on the version of Python.
"""

import os
import platform
from pathlib import Path
from typing import Any

from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.system import shell_quoted
from hf_lecture_models.lab.comparison.baselines import Comparison, Scale, make_baselines
from hf_lecture_models.lab.comparison.corpus import has_known_words
from hf_lecture_models.lab.comparison.python_reference import python_reference
from hf_lecture_models.lab.comparison.report import check_output, closing_line
from hf_lecture_models.lab.comparison.run import check_packages, run_comparison
from hf_lecture_models.tokenization.word import WordTokenizer

# The pipeline joins prompt and completion as they are, so the prompt ends in a space.
PROMPT = "The value of the "
# With words of the text: the order of words; an article; the number of the word before, and of one farther away.
PAIRS = [
    ["The value returned by the function is ignored .", "The value returned by function the is ignored ."],
    ["If the object is not found , an exception is raised .", "If the object is not found , a exception is raised ."],
    ["The arguments are evaluated from left to right .", "The arguments is evaluated from left to right ."],
    ["The items in the list are evaluated .", "The items in the list is evaluated ."],
]
LECTURE_PAIRS = [list(pair) for pair in SENTENCE_PAIRS["English"]]
# A word that occurs once in the training text counts as unknown, so that the models learn about unknown words.
MIN_COUNT = 2
# With --tiny: less text, and smaller networks for a shorter time.
TINY_PARAGRAPHS = 200
TINY_SCALE = Scale(hidden_size=48, dropout=0.3, epochs=8)
NOTE = (
    "The networks' settings, and in each run the best weights, were chosen on the validation text. Nothing was chosen "
    "on the test text."
)


def run_quickstart(output: str | os.PathLike[str], tiny: bool = False, seed: int = 0) -> dict[str, Any]:
    """Train, measure, save, draw and reload every model.

    Args:
        output: a new folder, or one that an earlier quickstart wrote. It appears when everything is done.
        tiny: less text and smaller networks.
        seed: of initial weights, dropout and the order of the data.

    Returns:
        The content of `results.json`.

    Raises:
        ImportError: the extra `train` is not installed.
        FileExistsError: the folder holds something else.
    """
    output = Path(output)
    check_packages("quickstart")
    check_output(output, "quickstart")
    comparison = make_comparison(tiny, seed)
    with staged_folder(output) as stage:
        results = run_comparison(comparison, stage)
    print(closing_line(results["seconds"], output))
    last = shell_quoted(str(output / comparison.baselines[-1].name))
    print(f"  echo 'The value of the' | hf-lecture generate {last} --sample")
    return results


def make_comparison(tiny: bool = False, seed: int = 0) -> Comparison:
    """Return the quickstart's text, tokenizer and models."""
    corpus = python_reference(TINY_PARAGRAPHS if tiny else None)
    name = f"Python {platform.python_version()}'s language reference"
    tokenizer = WordTokenizer.train(corpus.train, min_count=MIN_COUNT)
    facts = {
        "command": "hf-lecture quickstart" + (" --tiny" if tiny else "") + (f" --seed {seed}" if seed else ""),
        "title": name,
        "text": f"pydoc_data.topics, Python {platform.python_version()}",
        "tokenizer": {"type": "word", "min_count": MIN_COUNT},
    }
    return Comparison(
        corpus=corpus,
        tokenizer=tokenizer,
        baselines=make_baselines(),
        facts=facts,
        data={"name": "Python's language reference", "split": "test", "language": "en", "licence": "psf-2.0"},
        unit="words",
        note=NOTE,
        prompt=PROMPT,
        pairs=[pair for pair in PAIRS if has_known_words(tokenizer, pair)],
        unknown_pairs=LECTURE_PAIRS,
        seed=seed,
        scale=TINY_SCALE if tiny else None,
    )
