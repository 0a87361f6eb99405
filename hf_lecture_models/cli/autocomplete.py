# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture generate --interactive`: the likeliest next words after each line, for people and for pipes."""

import re
import sys
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.generation.next_words import NextWordFinder, NextWords
from hf_lecture_models.loading import load_model

_INTRODUCTION = (
    "Type a text and press Enter: its likeliest next words are shown, or how its last word may go on. A number takes\n"
    "that word; what you type next is added to the text; an empty line starts over; Ctrl-D ends."
)


def run(name: str, number: int) -> None:
    """Read lines until the end of input or Ctrl-C, and show the `number` likeliest next words after each.

    On a terminal the prompt is the text so far, and Tab completes to the likeliest word. In a pipe each answer repeats
    the text.
    """
    finder = NextWordFinder(*load_model(name, AutoModelForCausalLM))
    typed = sys.stdin.isatty()
    text = ""
    if typed:
        tab = _Tab(finder)
        print(_INTRODUCTION + ("\nTab takes the likeliest word." if tab.works else ""), file=sys.stderr)
    shown: list[str] = []
    while True:
        try:
            if typed:
                tab.text = text
            line = input(f"{text}> " if typed else "")
        except (EOFError, KeyboardInterrupt):
            if typed:
                print()
            return
        text = _extended(text, line, shown)
        shown = _answer(finder, text, number, repeat=not typed)


def _extended(text: str, line: str, shown: list[str]) -> str:
    """Return the text after a line was typed; a number selects a shown word, and an empty line starts a new text."""
    if not line:
        return ""
    if line.isdecimal() and 1 <= int(line) <= len(shown):
        return _with_word(text, shown[int(line) - 1])
    return text + line


def _with_word(text: str, word: str) -> str:
    """Replace the text's last word by `word`.

    >>> _with_word("the ca", "cat"), _with_word("the ", "cat")
    ('the cat ', 'the cat ')
    """
    before = re.fullmatch(r"(.*?)\S*", text, flags=re.DOTALL)
    return f"{before and before[1]}{word} "


def _answer(finder: NextWordFinder, text: str, number: int, repeat: bool) -> list[str]:
    try:
        found = finder.find(text, number)
    except ValueError as error:  # a word that a closed vocabulary lacks
        print(f"  {error}")
        return []
    if repeat:
        print(text)
    _print_words(found)
    sys.stdout.flush()
    return [word for word, _ in found.words]


def _print_words(found: NextWords) -> None:
    if not found.words:
        print(f"  no word begins with {found.begun!r}")
    for place, (word, probability) in enumerate(found.words, start=1):
        print(f"{place:3} {100 * probability:8.3f} %  {word}")
    if found.end is not None:
        print(f"    {100 * found.end:8.3f} %  (the text ends here)")


class _Tab:
    """Completion by readline, if it is available: Tab adds the missing letters of the likeliest word."""

    def __init__(self, finder: NextWordFinder) -> None:
        self.finder, self.text, self.works = finder, "", False
        try:
            import readline
        except ImportError:
            return
        self.readline: Any = readline
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._complete)
        apple = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if apple else "tab: complete")
        self.works = True

    def _complete(self, fragment: str, state: int) -> str | None:
        """Complete the letters before the cursor; readline asks for a second choice with state 1."""
        if state:
            return None
        typed = self.readline.get_line_buffer()[: self.readline.get_endidx()]
        found = self.finder.find(self.text + typed, number=1)
        if not found.words:
            return None
        return fragment + found.words[0][0][len(found.begun) :] + " "
