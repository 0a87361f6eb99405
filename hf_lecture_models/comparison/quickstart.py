# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture quickstart`: language models, trained and compared on text that comes with Python.

The text is the language reference in the interpreter's own `pydoc_data.topics`, so it needs no download, and the
figures depend on the version of Python.
"""

import os
import platform
import re
import shlex
from pathlib import Path
from typing import Any

from hf_lecture_models.comparison.baselines import Comparison, Scale, make_baselines
from hf_lecture_models.comparison.corpus import Corpus, has_known_words
from hf_lecture_models.comparison.report import check_output, closing_line
from hf_lecture_models.comparison.run import check_packages, run_comparison
from hf_lecture_models.evaluation.surprisal import SENTENCE_PAIRS
from hf_lecture_models.io.files import staged_folder
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

_TOKEN = re.compile(r"\w+(?:[-'’.]\w+)*|\.\.\.|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z‘“(])")


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
    last = shlex.quote(str(output / comparison.baselines[-1].name))
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


def python_reference(most_paragraphs: int | None = None) -> Corpus:
    """Return sentences of Python's language reference, with white space around punctuation marks.

    Paragraphs of code, grammar and tables are left out, and repeated ones, which would bring training sentences into
    the other parts. Of every ten paragraphs one is for validation and one for the test.
    """
    from pydoc_data import topics

    paragraphs: dict[str, None] = {}
    for _, topic in sorted(topics.topics.items()):
        for block in topic.split("\n\n"):
            if paragraph := _prose(block):
                paragraphs[paragraph] = None
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for number, paragraph in enumerate(list(paragraphs)[:most_paragraphs]):
        parts[{8: 1, 9: 2}.get(number % 10, 0)].extend(_SENTENCE_END.split(paragraph))
    return Corpus(*parts)


def _prose(block: str) -> str:
    """Return the block as one line of space-separated tokens, or "" if it is not English prose.

    >>> _prose("The *try* statement\\n   handles exceptions, or re-\\n   raises them.")
    'The try statement handles exceptions , or re-raises them .'
    >>> _prose(">>> x = 1")
    ''
    """
    if re.search(r">>>|::=|===|---|\*\*\*", block):
        return ""
    text = re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(line.strip() for line in block.splitlines()))
    tokens = _TOKEN.findall(re.sub(r'[*"`]', "", text))
    words = sum(token[0].isalpha() for token in tokens)
    is_prose = len(tokens) >= 6 and words >= 0.75 * len(tokens) and tokens[-1] in ".?!:"
    return " ".join(tokens) if is_prose else ""
