# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The commands that documents, docstrings, recipes and messages of this repository print, and a shell to run them."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.forked_python import HF_LECTURE, ForkedPython

ROOT = Path(__file__).resolve().parents[1]
CODE = [ROOT / folder for folder in ("hf_lecture_models", "training", "benchmarks")]
DOCUMENTS = [
    *(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"),
    *(
        path
        for name in ("docs", "docs/live", "docs/notebooks", "docs/notes", "hub_cards")
        for path in (ROOT / name).glob("*.md")
    ),
    *(path for folder in CODE for suffix in ("md", "jinja") for path in folder.rglob(f"*.{suffix}")),
]
RECIPES = [path for folder in CODE for path in folder.rglob("*.yaml")]
SOURCES = [ROOT / "hf_lecture_cli.py", *(path for folder in CODE for path in folder.rglob("*.py"))]

_PROGRAM = r"(?:hf-lecture|pip|pytest|python|accelerate launch|torchrun|hf auth)"
_COMMAND = re.compile(rf"(?:[A-Z_]+=\S+ )*(?:echo \S.* \| )?(?:{_PROGRAM} [^\s:]+(?!\S)|pytest$|\.ci/run)")
# Within a message: as far as no other punctuation mark or word of a sentence comes.
_IN_MESSAGE = re.compile(
    rf"(?:echo '[^']*' \| |[A-Z_]+=\S+ )*{_PROGRAM}(?: (?!(?:or|and|runs|that) )(?:'[^']*'|[^\s;,:()`'<]++(?!:)))+"
)

_PROGRAMS = {
    "hf-lecture": HF_LECTURE,
    "python": (),
    "torchrun": ("-m", "torch.distributed.run"),
    "accelerate": ("-m", "accelerate.commands.accelerate_cli"),
}


def printed_commands() -> dict[str, set[str]]:
    """Each command, without its comment and with one space between words, and the files that print it."""
    found: dict[str, set[str]] = {}
    for paths, read in ((DOCUMENTS, _in_text), (RECIPES, _in_comments), (SOURCES, _in_source)):
        for path in paths:
            for command in read(path.read_text(encoding="utf-8")):
                words = " ".join(re.sub(r"\s# .*", "", command).split())
                found.setdefault(words, set()).add(str(path.relative_to(ROOT)))
    return found


def _in_text(text: str) -> Iterator[str]:
    """Indented lines, blocks of code, and what stands between backticks; two words alone are a verb's name."""
    text = text.replace("\\\n", "")
    # Between fences stands every second part; its first line is the language.
    blocks = [block.partition("\n") for block in re.split(r"(?m)^```", text)[1::2]]
    lines = [line for language, _, block in blocks if language in ("", "bash", "sh") for line in block.splitlines()]
    lines += re.findall(r"(?m)^ {4,}(\S.*)$", text)
    lines += [words for words in re.findall(r"`([^`\n]+)`", text) if len(words.split()) > 2]
    yield from filter(_COMMAND.match, lines)


def _in_comments(text: str) -> Iterator[str]:
    return _in_text("\n".join(f"  {line[1:]}" for line in text.splitlines() if line.startswith("#")))


def _in_source(text: str) -> Iterator[str]:
    """Of docstrings as of other texts; of the other strings, whatever looks like a command."""
    # Parsing takes longest.
    if not re.search(rf"{_PROGRAM}|\.ci/run", text):
        return
    nodes = list(ast.walk(ast.parse(text)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, documented)}
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            string = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from _IN_MESSAGE.findall(string)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from _in_text(node.value) if node.value in docstrings else _IN_MESSAGE.findall(node.value)


def start_printed(line: str, place: Path, typed: str = "", **environment: str) -> tuple[ForkedPython, str]:
    """Start one line of a shell in the folder `place`, and return what its standard input gets.

    It knows NAME=VALUE in front, `echo TEXT |`, `< FILE`, quotes and comments.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<&;")
    lexer.whitespace_split = True
    words, given = list(lexer), typed
    if words[0] == "echo":
        pipe = words.index("|")
        words, given = words[pipe + 1 :], " ".join(words[1:pipe]) + "\n"
    if "<" in words:
        given = (place / words.pop()).read_text(encoding="utf-8")
        assert words.pop() == "<", line
    while re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, environment[name] = words.pop(0).partition("=")
    assert not {"|", "<", "&&", "&", ";"} & set(words), f"this shell does not know all of: {line}"
    program, *arguments = words
    folder = str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")
    return ForkedPython(*_PROGRAMS[program], *arguments, cwd=place, **{"PYTHONPATH": folder} | environment), given


def run_printed(line: str, place: Path, typed: str = "", **environment: str) -> tuple[int | None, str, str]:
    """Exit status, output and errors of one line of a shell; see `start_printed`."""
    process, given = start_printed(line, place, typed, **environment)
    out, err = process.communicate(given)
    return process.returncode, out, err
