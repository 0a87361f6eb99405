# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture ladder FILE`: the ladder of language models on the user's own text, one text per line.

What is decided here, and told to the user: how the text is split, what its tokens are, how large the networks are and
how long they train. All of it follows from the text and the options, except that a slow machine makes fewer steps.
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

from hf_lecture_models.io.files import check_files, staged_folder
from hf_lecture_models.ladder import (
    RESULTS,
    TABLE,
    Corpus,
    Ladder,
    Scale,
    check_output,
    check_packages,
    make_rungs,
    run_comparison,
    size_of,
    write_json,
)
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts
from hf_lecture_models.tokenization.splitting import split_words
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.version import __version__

MINUTES = 4.0
# Fewer lines cannot be split into ten parts. More tokens than the most do not fit into a small machine's memory:
# counting n-grams takes some 200 bytes for each.
LEAST_LINES, MOST_BYTES, MOST_TOKENS = 10, 2**28, 40_000_000
# Held-out parts that are not given are made of blocks of at most so many lines: every tenth block goes to each, or
# fewer, so that a part holds about so many words at most (of text without white space, characters).
BLOCK_LINES, HELD_OUT_WORDS = 20, 50_000
# A line as long as this that comes again is a copy; shorter ones ("ROMEO:") come again because language repeats itself.
COPY_CHARACTERS = 40
# Text with less white space inside its lines is not written in words; nor is a list of words, one per line.
MOST_CHARACTERS_PER_BLANK = 20
# With --tiny: so many lines of each file, and small networks.
TINY_LINES = 400
TINY_SCALE = Scale(hidden_size=48, dropout=0.3, epochs=6)
# Up to so many training tokens: the size of the networks, their dropout and the passes over the text.
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


@dataclass(frozen=True)
class Kind:
    """A way to cut text into tokens.

    Attributes:
        tokenizer: its class.
        unit: what the tokens are called.
        order: of the longer n-gram: a trigram of characters would know less than a word.
        options: of `tokenizer.train`, where the user names no others.
        choices: those that the user may name.
    """

    tokenizer: Any
    unit: str
    order: int
    options: dict[str, Any]
    choices: tuple[str, ...] = ("vocab_size", "min_count")


KINDS = {
    # A word that occurs once is unknown, so that the models learn what unknown words are like.
    "words": Kind(WordTokenizer, "words", 3, {"vocab_size": 10_000, "min_count": 2}),
    "bpe": Kind(BpeTokenizer, "pieces of words", 4, {"vocab_size": 4_000, "min_count": 5, "form": "bytes"}),
    "char": Kind(CharTokenizer, "characters", 6, {"vocab_size": 4_000, "min_count": 2}),
    "bytes": Kind(ByteTokenizer, "bytes", 6, {}, choices=()),
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for.

    Attributes:
        files: one text per line, UTF-8, `.gz` too; blank lines are left out.
        validation, test: held-out files; a part that is not given is split off `files`.
        tokenizer: one of `KINDS`; None: words, or where there is no white space, characters.
        vocab_size, min_count: of the tokenizer; None: see `KINDS`.
        minutes: for the training of all networks together; measuring adds to it.
        tiny: the first lines only, and small networks.
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
    """Train, measure, save, draw and reload every model of the ladder on text files.

    Args:
        request: the files and options.
        output: a new folder, or one that an earlier ladder wrote. It appears when everything is done; until then, what
            is finished waits beside it in `OUTPUT.unfinished`, and the same call goes on from there.

    Returns:
        What `results.json` holds.

    Raises:
        ImportError: the extra `train` is not installed.
        OSError: a file cannot be read, or a folder holds something else.
        ValueError: a file is not UTF-8, too short or too long, or an option is impossible.
    """
    output = Path(output)
    check_packages("ladder")
    check_output(output, "ladder")
    ladder = make_ladder(request)
    with unfinished(output, ladder) as folder:
        results = run_comparison(ladder, folder / _MODELS, folder / _PROGRESS)
        _move(folder / _MODELS, output, [rung.name for rung in ladder.rungs])
    print(f"\n{results['seconds']:.0f} s in all. {RESULTS}, {TABLE} and the models are in {output}; for example")
    best = shlex.quote(str(output / ladder.rungs[-1].name))
    print(f"  hf-lecture generate {best} --sample --prompt {shlex.quote(ladder.prompt)}")
    return results


def make_ladder(request: Request) -> Ladder:
    """Read and split the text, and decide what follows from it; each decision is printed."""
    corpus, remarks = read_corpus(request)
    kind = request.tokenizer or ("words" if _in_words(corpus.train) else "char")
    if request.tokenizer is None and kind != "words":
        remarks.append("there is hardly any white space, so the tokens are characters; --tokenizer names another kind")
    tokenizer, options = train_tokenizer(kind, corpus.train, request.vocab_size, request.min_count)
    scale = TINY_SCALE if request.tiny else _scale(_count_tokens(tokenizer, corpus.train, request.title))
    rungs = make_rungs(KINDS[kind].order)
    networks = max(1, sum(rung.is_network for rung in rungs))
    remarks.append(
        f"networks of {scale.hidden_size} units; {scale.epochs:g} passes over the text, or as many as "
        f"{request.minutes:g} minutes for the {networks} networks together allow (--minutes)"
    )
    print("\n".join(remarks), flush=True)
    prompt, pairs = make_examples(corpus.test)
    return Ladder(
        corpus=corpus,
        tokenizer=tokenizer,
        rungs=rungs,
        facts={
            "command": request.command,
            "title": request.title,
            "text": f"{request.title}; {'; '.join(remarks)}",
            "tokenizer": {"type": kind, **options},
        },
        data={"name": request.title, "split": "test", "language": "und"},
        unit=KINDS[kind].unit,
        note=NOTE,
        prompt=prompt,
        pairs=pairs,
        licence="unknown",
        seed=request.seed,
        scale=scale,
        seconds=60 * request.minutes / networks,
    )


def read_corpus(request: Request) -> tuple[Corpus, list[str]]:
    """The three parts, and what was done to get them, in sentences.

    Raises:
        OSError, ValueError: as `run_ladder`.
    """
    files = [*request.files, *request.validation, *request.test]
    if "-" in files:
        raise ValueError("the ladder reads files, not standard input: save the text first")
    check_files(files)
    most = TINY_LINES if request.tiny else None
    lines, remarks = _lines(request.files, most)
    given = {part: _lines(files, most)[0] for part in ("validation", "test") if (files := getattr(request, part))}
    missing = [part for part in ("validation", "test") if part not in given]
    if missing:
        lines, copies = _without_copies(lines)
        if copies:
            remarks.append(f"{copies:,} lines of {COPY_CHARACTERS} characters or more that came again left out")
        parts, remark = split_lines(lines, missing, request.title)
        remarks.append(remark)
    else:
        parts = {"train": lines}
    corpus = Corpus(**parts, **given)
    known = set(corpus.train)
    for part in ("validation", "test"):
        texts = getattr(corpus, part)
        share = sum(text in known for text in texts) / len(texts)
        if share >= 0.005:
            remarks.append(f"{share:.0%} of the {part} lines also stand in the training text")
    return corpus, remarks


def _lines(files: Sequence[str], most: int | None) -> tuple[list[str], list[str]]:
    """The lines of all files that are not blank, and what is to be said about them."""
    texts: list[str] = []
    blank = size = 0
    for file in files:
        for number, line in enumerate(read_texts(file)):
            text = line.removeprefix("\ufeff") if number == 0 else line
            size += len(line.encode())
            if size > MOST_BYTES:
                raise ValueError(
                    f"{file} goes beyond {MOST_BYTES / 2**20:,.0f} MiB of text, and the ladder holds it in memory; "
                    "give a part of it"
                )
            blank += not text.strip()
            if text.strip():
                texts.append(text)
            if len(texts) == most:
                break
    if not texts:
        raise ValueError(f"there is no text in {', '.join(map(str, files))}: one text per line is needed")
    remarks = [f"only the first {most} lines of each file (--tiny)"] if most and len(texts) >= most else []
    return texts, remarks + ([f"{blank:,} blank lines left out"] if blank else [])


def _without_copies(lines: list[str]) -> tuple[list[str], int]:
    """Of lines that could hardly come again by themselves, the first ones only."""
    seen: set[str] = set()
    kept = []
    for line in lines:
        if len(line) >= COPY_CHARACTERS:
            if line in seen:
                continue
            seen.add(line)
        kept.append(line)
    return kept, len(lines) - len(kept)


def split_lines(lines: list[str], missing: Sequence[str], title: str) -> tuple[dict[str, list[str]], str]:
    """Take the missing held-out parts from `lines`, spread over all of it; the rest is for training.

    >>> parts, _ = split_lines([str(number) for number in range(20)], ["validation", "test"], "numbers.txt")
    >>> parts["validation"], parts["test"], len(parts["train"])
    (['8', '18'], ['9', '19'], 16)

    Raises:
        ValueError: there are too few lines.
    """
    if len(lines) < LEAST_LINES:
        raise ValueError(
            f"{title} has {len(lines)} different lines; at least {LEAST_LINES} are needed to hold some out: give one "
            "sentence or paragraph per line, or name --validation and --test files"
        )
    size = max(1, min(BLOCK_LINES, len(lines) // 100))
    blocks = -(-len(lines) // size)
    every = min(blocks, max(10, math.ceil(sum(map(size_of, lines)) / HELD_OUT_WORDS)))
    parts: dict[str, list[str]] = {"train": [], **{part: [] for part in missing}}
    # The last blocks of each group of `every`.
    place = dict(zip(range(every - len(missing), every), missing, strict=True))
    for number, line in enumerate(lines):
        parts[place.get(number // size % every, "train")].append(line)
    shares = " and ".join(f"one for {part}" for part in missing)
    return parts, f"of every {every:,} blocks of {size} line{'s' if size > 1 else ''}, {shares}"


def _in_words(texts: list[str]) -> bool:
    blanks = sum(len(split_words(text)) - 1 for text in texts)
    return sum(map(len, texts)) <= MOST_CHARACTERS_PER_BLANK * blanks


def train_tokenizer(
    kind: str, texts: list[str], vocab_size: int | None, min_count: int | None
) -> tuple[Any, dict[str, Any]]:
    """The tokenizer, and the options that made it.

    Raises:
        ValueError: an option that this kind does not have, or of an impossible value.
    """
    chosen = KINDS[kind]
    named = {"vocab_size": vocab_size, "min_count": min_count}
    named = {name: value for name, value in named.items() if value is not None}
    for name in named:
        if name not in chosen.choices:
            raise ValueError(f"--{name.replace('_', '-')} has no effect on {kind}; leave it out")
    options = chosen.options | named
    try:
        return chosen.tokenizer.train(texts, **options), options
    except ValueError:
        # A short text may have no word twice.
        if min_count is not None or "min_count" not in options:
            raise
    options["min_count"] = 1
    return chosen.tokenizer.train(texts, **options), options


def _count_tokens(tokenizer: Any, texts: list[str], title: str) -> int:
    tokens = len(encode_corpus(tokenizer, texts).ids)
    if tokens > MOST_TOKENS:
        raise ValueError(
            f"{title} has {tokens:,} training tokens, and the ladder counts the n-grams of at most {MOST_TOKENS:,} in "
            "memory; give a part of it"
        )
    return tokens


def _scale(tokens: int) -> Scale:
    return next(scale for most, scale in SCALES if tokens <= most)


def make_examples(texts: list[str], count: int = 3) -> tuple[str, list[list[str]]]:
    """A prompt, and pairs to rank: texts of the user's, and the same with two neighbouring words changed over.

    >>> make_examples(["the cat sat on the mat"])
    ('the cat sat ', [['the cat sat on the mat', 'the cat on sat the mat']])
    """
    spaced = any(" " in text for text in texts)
    join = " ".join if spaced else "".join
    rows = [text.split() if spaced else list(text.strip()[:40]) for text in texts]
    rows = [row for row in rows if 4 <= len(row) <= 40 and swap_middle_words(row) != row] or [row[:40] for row in rows]
    chosen = rows[:: max(1, len(rows) // count)][:count]
    pairs = [[join(row), join(swap_middle_words(row))] for row in chosen if swap_middle_words(row) != row]
    return join(rows[0][:3]) + (" " if spaced else ""), pairs


def swap_middle_words(row: list[str]) -> list[str]:
    """The two in the middle changed over."""
    middle = len(row) // 2
    return [*row[: middle - 1], *reversed(row[middle - 1 : middle + 1]), *row[middle + 1 :]] if middle else row


@contextmanager
def unfinished(output: Path, ladder: Ladder) -> Iterator[Path]:
    """Yield the folder in which a run_comparison waits until it is done; what another call left there is refused.

    Raises:
        FileExistsError: it holds an unfinished ladder of other texts or options, or something else.
        BlockingIOError: another process is at work in it.
    """
    from hf_lecture_models.trainer.checkpoint import run_lock

    folder = output.with_name(f"{output.name}.unfinished")
    with run_lock(folder):
        job = _fingerprint(ladder)
        found = [path for path in folder.iterdir() if path.name != "run.lock"]
        if found and (not (folder / _JOB).exists() or json.loads((folder / _JOB).read_text(encoding="utf-8")) != job):
            raise FileExistsError(
                f"{folder} is there already, from other texts or options; remove it, or name another --output"
            )
        write_json(folder / _JOB, job)
        (folder / _MODELS).mkdir(exist_ok=True)
        try:
            yield folder
        except BaseException:
            print(f"what is finished waits in {folder}; the same command goes on from there", file=sys.stderr)
            raise
    shutil.rmtree(folder)


def _fingerprint(ladder: Ladder) -> dict[str, Any]:
    """What must be the same for a run_comparison to go on."""
    texts = {part: zlib.crc32("\n".join(texts).encode()) for part, texts in asdict(ladder.corpus).items()}
    rungs = [rung.name for rung in ladder.rungs]
    return {"command": ladder.facts["command"], "texts": texts, "rungs": rungs, "version": __version__}


def _move(models: Path, output: Path, rungs: list[str]) -> None:
    """The finished ladder into its place, instead of an earlier one."""
    earlier = output / RESULTS
    if earlier.exists():
        for row in json.loads(earlier.read_text(encoding="utf-8"))["models"]:
            if row["name"] not in rungs:
                shutil.rmtree(output / row["name"], ignore_errors=True)
    with staged_folder(output) as stage:
        for name in (*rungs, TABLE, RESULTS):
            (models / name).rename(stage / name)
