# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture ladder FILE`: language models compared on the user's own text, one text per line.

The split of the text, the tokens, the size of the networks and their time of training are decided here, and printed for
the user. They follow from the text and the options, except that a slow machine makes fewer steps.
"""

import json
import math
import os
import shlex
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.runs import RUN_LOCK, run_lock
from hf_lecture_models.io.system import move, remove, shell_quoted
from hf_lecture_models.lab.comparison.baselines import Comparison, Scale, make_baselines
from hf_lecture_models.lab.comparison.corpus import has_known_words, read_corpus
from hf_lecture_models.lab.comparison.report import CHART, RESULTS, check_output, closing_line, write_json
from hf_lecture_models.lab.comparison.run import check_packages, run_comparison
from hf_lecture_models.tokenization.corpus import encode_corpus
from hf_lecture_models.tokenization.registry import TOKENIZERS
from hf_lecture_models.tokenization.splitting import split_words
from hf_lecture_models.version import __version__

MINUTES = 4.0
# Counting n-grams takes some 200 bytes for each token, and a small machine has no memory for more.
MAX_TOKENS = 40_000_000
# Text with less white space inside its lines (a list of words, one per line, too) is read as characters.
MAX_CHARACTERS_PER_SPACE = 20
# With --tiny: the lines of each file, and small networks.
TINY_LINES = 400
TINY_SCALE = Scale(hidden_size=48, dropout=0.3, epochs=6)
# The size of the networks, by the largest number of training tokens for it.
SCALES = [
    (20_000, Scale(hidden_size=64, dropout=0.4, epochs=20)),
    (150_000, Scale(hidden_size=128, dropout=0.3, epochs=12)),
    (1_000_000, Scale(hidden_size=192, dropout=0.2, epochs=6, length=2, threads=4)),
    (math.inf, Scale(hidden_size=256, dropout=0.1, epochs=3, length=2, threads=4)),
]
NOTE = (
    "The networks' settings were chosen on another text, Python's language reference, and by the size of this one; in "
    "each run the best weights are chosen on the validation text. Nothing is chosen on the test text."
)
_JOB, _PROGRESS, _MODELS = "job.json", "progress.json", "models"
_EXAMPLES = 3


@dataclass(frozen=True)
class TokenizerDefaults:
    """The ladder's settings for a kind of tokenizer.

    Attributes:
        unit: names the tokens.
        order: of the longer n-gram; a trigram of characters would see less than a word.
        options: defaults of the options of `train`.
        choices: the options that the user may give.
    """

    unit: str
    order: int
    options: dict[str, Any]
    choices: tuple[str, ...] = ("vocab_size", "min_count")


DEFAULTS = {
    # A word that occurs once counts as unknown, so that the models learn about unknown words.
    "word": TokenizerDefaults("words", 3, {"vocab_size": 10_000, "min_count": 2}),
    "bpe": TokenizerDefaults("pieces of words", 4, {"vocab_size": 4_000, "min_count": 5, "form": "bytes"}),
    "unigram": TokenizerDefaults("pieces of words", 4, {"vocab_size": 4_000}),
    "char": TokenizerDefaults("characters", 6, {"vocab_size": 4_000, "min_count": 2}),
    "byte": TokenizerDefaults("bytes", 6, {}, choices=()),
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """The user's files and options.

    Attributes:
        files: one text per line, UTF-8, `.gz` too; blank lines are left out.
        validation, test: held-out files; a part that is not given is split off `files`.
        tokenizer: "word", "bpe", "unigram", "char", "byte"; None: words, or characters in text without white space.
        vocab_size, min_count: of the tokenizer; None: see `DEFAULTS`.
        minutes: for the training of all networks together, without their evaluation.
        tiny: use the first lines only, and small networks.
        seed: of initial weights, dropout and the order of the data.
    """

    files: Sequence[str]
    validation: Sequence[str] = ()
    test: Sequence[str] = ()
    tokenizer: str | None = None
    vocab_size: int | None = None
    min_count: int | None = None
    minutes: float = MINUTES
    tiny: bool = False
    seed: int = 0

    @property
    def command(self) -> str:
        """The command line, without the folder for the results."""
        words = ["hf-lecture", "ladder", *self.files]
        for part in ("validation", "test"):
            words += [word for file in getattr(self, part) for word in (f"--{part}", file)]
        for name in ("tokenizer", "vocab_size", "min_count", "minutes", "seed"):
            if (value := getattr(self, name)) != getattr(Request, name):
                words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join([*words, *(["--tiny"] if self.tiny else [])])

    @property
    def title(self) -> str:
        """The names of the files."""
        names = [Path(file).name for file in self.files]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def run_ladder(request: Request, output: str | os.PathLike[str]) -> dict[str, Any]:
    """Train, measure, save, draw and reload every model on text files.

    Args:
        request: the files and options.
        output: a new folder, or one that an earlier ladder wrote. It appears when everything is done; until then the
            finished models are in `OUTPUT.unfinished`, and the same call continues from there.

    Returns:
        The content of `results.json`.

    Raises:
        ImportError: the extra `train` is not installed.
        OSError: a file cannot be read, or a folder holds something else.
        ValueError: a file is not UTF-8, too short or too long, or an option is impossible.
    """
    output = Path(output)
    check_packages("ladder")
    check_output(output, "ladder")
    comparison = make_comparison(request)
    names = [baseline.name for baseline in comparison.baselines]
    with unfinished(output, comparison) as folder:
        results = run_comparison(comparison, folder / _MODELS, folder / _PROGRESS)
        _move(folder / _MODELS, output, names)
    print(closing_line(results["seconds"], output))
    last = shell_quoted(str(output / names[-1]))
    print(f"  hf-lecture generate {last} --sample --prompt {shell_quoted(comparison.prompt)}")
    return results


def make_comparison(request: Request) -> Comparison:
    """Read and split the text, choose the settings that follow from it, and print each choice."""
    if "-" in [*request.files, *request.validation, *request.test]:
        raise ValueError("the ladder reads files, not standard input: save the text first")
    max_lines = TINY_LINES if request.tiny else None
    corpus, remarks = read_corpus(request.files, request.validation, request.test, max_lines)
    kind = request.tokenizer or ("word" if _has_words(corpus.train) else "char")
    if request.tokenizer is None and kind != "word":
        remarks.append("there is hardly any white space, so the tokens are characters; --tokenizer names another kind")
    tokenizer, options = train_tokenizer(kind, corpus.train, request.vocab_size, request.min_count)
    scale = TINY_SCALE if request.tiny else _scale(tokenizer, corpus.train, request.title)
    baselines = make_baselines(DEFAULTS[kind].order)
    networks = max(1, sum(baseline.is_network for baseline in baselines))
    remarks.append(
        f"networks of {scale.hidden_size} units; {scale.epochs:g} passes over the text, or as many as "
        f"{request.minutes:g} minutes for the {networks} networks together allow (--minutes)"
    )
    print("\n".join(remarks), flush=True)
    prompt, pairs = make_examples([text for text in corpus.test if has_known_words(tokenizer, [text])] or corpus.test)
    return Comparison(
        corpus=corpus,
        tokenizer=tokenizer,
        baselines=baselines,
        facts={
            "command": request.command,
            "title": request.title,
            "text": f"{request.title}; {'; '.join(remarks)}",
            "tokenizer": {"type": kind, **options},
        },
        data={"name": request.title, "split": "test", "language": "und"},
        unit=DEFAULTS[kind].unit,
        note=NOTE,
        prompt=prompt,
        pairs=pairs,
        licence="unknown",
        seed=request.seed,
        scale=scale,
        seconds=60 * request.minutes / networks,
    )


def _has_words(texts: list[str]) -> bool:
    spaces = sum(len(split_words(text)) - 1 for text in texts)
    return sum(map(len, texts)) <= MAX_CHARACTERS_PER_SPACE * spaces


def train_tokenizer(
    kind: str, texts: list[str], vocab_size: int | None, min_count: int | None
) -> tuple[Any, dict[str, Any]]:
    """Return a trained tokenizer, and the options that made it.

    Raises:
        ValueError: this kind does not have one of the options, or a value is impossible.
    """
    if kind not in DEFAULTS:
        raise ValueError(f"the tokenizer must be one of {', '.join(DEFAULTS)}, not {kind!r}")
    defaults, train = DEFAULTS[kind], TOKENIZERS[kind].train
    named = {"vocab_size": vocab_size, "min_count": min_count}
    named = {name: value for name, value in named.items() if value is not None}
    for name in named:
        if name not in defaults.choices:
            raise ValueError(f"`{name}` has no effect on {kind}; leave it out")
    options = defaults.options | named
    try:
        return train(texts, **options), options
    except ValueError:
        # A short text may have no word twice.
        if min_count is not None or "min_count" not in options:
            raise
    options["min_count"] = 1
    return train(texts, **options), options


def _scale(tokenizer: Any, texts: list[str], title: str) -> Scale:
    tokens = len(encode_corpus(tokenizer, texts).ids)
    if tokens > MAX_TOKENS:
        raise ValueError(
            f"{title} has {tokens:,} training tokens, and the ladder counts the n-grams of at most {MAX_TOKENS:,} in "
            "memory; give a part of it"
        )
    return next(scale for limit, scale in SCALES if tokens <= limit)


def make_examples(texts: list[str]) -> tuple[str, list[list[str]]]:
    """Return a prompt, and pairs to rank: texts of the user's, each with a copy whose two middle words are swapped.

    >>> make_examples(["the cat sat on the mat"])
    ('the cat sat ', [['the cat sat on the mat', 'the cat on sat the mat']])
    """
    spaced = any(" " in text for text in texts)
    join = " ".join if spaced else "".join
    rows = [text.split() if spaced else list(text.strip()[:40]) for text in texts]
    rows = [row for row in rows if 4 <= len(row) <= 40 and swap_middle_words(row) != row] or [row[:40] for row in rows]
    chosen = rows[:: max(1, len(rows) // _EXAMPLES)][:_EXAMPLES]
    pairs = [[join(row), join(swap_middle_words(row))] for row in chosen if swap_middle_words(row) != row]
    return join(rows[0][:3]) + (" " if spaced else ""), pairs


def swap_middle_words(row: list[str]) -> list[str]:
    """Return the row with its two middle words swapped.

    >>> swap_middle_words(["a", "b", "c", "d"])
    ['a', 'c', 'b', 'd']
    """
    middle = len(row) // 2
    return [*row[: middle - 1], *reversed(row[middle - 1 : middle + 1]), *row[middle + 1 :]] if middle else row


@contextmanager
def unfinished(output: Path, comparison: Comparison) -> Iterator[Path]:
    """Yield the folder that holds a comparison until it is finished.

    Raises:
        FileExistsError: the folder holds an unfinished ladder of other texts or options, or something else.
        BlockingIOError: another process works in it.
    """
    folder = output.with_name(f"{output.name}.unfinished")
    with run_lock(folder):
        job = _fingerprint(comparison)
        found = [path for path in folder.iterdir() if path.name != RUN_LOCK]
        if found and (not (folder / _JOB).exists() or json.loads((folder / _JOB).read_text(encoding="utf-8")) != job):
            raise FileExistsError(
                f"{folder} is there already, from other texts or options; remove it, or name another `output`"
            )
        write_json(folder / _JOB, job)
        (folder / _MODELS).mkdir(exist_ok=True)
        try:
            yield folder
        except BaseException:
            print(f"what is finished waits in {folder}; the same command goes on from there", file=sys.stderr)
            raise
    remove(folder)


def _fingerprint(comparison: Comparison) -> dict[str, Any]:
    """Return the values that must stay the same for a comparison to continue."""
    texts = {part: zlib.crc32("\n".join(texts).encode()) for part, texts in asdict(comparison.corpus).items()}
    models = [baseline.name for baseline in comparison.baselines]
    return {"command": comparison.facts["command"], "texts": texts, "models": models, "version": __version__}


def _move(models: Path, output: Path, names: list[str]) -> None:
    """Move the finished comparison to its place, instead of an earlier one."""
    earlier = output / RESULTS
    if earlier.exists():
        for row in json.loads(earlier.read_text(encoding="utf-8"))["models"]:
            if row["name"] not in names:
                shutil.rmtree(output / row["name"], ignore_errors=True)
    with staged_folder(output) as stage:
        for name in (*names, CHART, RESULTS):
            move(models / name, stage / name)
