# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
r"""Unknown words by class, and unknown words in letters (slide Y:311-324), as parts of the Rust library's pipeline.

Everything here is saved in `tokenizer.json`, and so works where this package is not installed.

**Classes.** A normalizer replaces each word outside the vocabulary by the token of its class, which is a word of the
vocabulary. Its regular expressions look ahead: the word belongs to the class, and differs from all known words of the
class, which the pattern lists as a trie (`Pari(?:s|ty)`). A known word is in the pattern of its class alone, and a word
of no class is in no pattern. The 33 k words of WikiText-2 make 84 kB of patterns, loaded in 0.05 s. A text takes twice
the time through the Rust library, a whole corpus no more, because each distinct word is encoded once.

**Letters.** A byte-pair encoding without merges has words in its vocabulary, each with a space before it. A known word
stays whole. Any other word is split into the space, which marks the beginning of a spelled word, and its letters; a
letter outside the vocabulary is split into the bytes of its UTF-8. Words contain no white space, so the mark cannot be
mistaken: the joined tokens are the text, up to its white space.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from itertools import groupby, takewhile

from tokenizers import Regex, Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer, Replace, Sequence
from tokenizers.pre_tokenizers import Metaspace, PreTokenizer, WhitespaceSplit
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

from hf_lecture_models.tokenization.splitting import WHITE_SPACE, shorten, split_words

MARK = " "
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]

_IN_WORD = f"[^{WHITE_SPACE}]"
_END = f"(?!{_IN_WORD})"
_SIGN = rf"[^\p{{L}}\p{{N}}{WHITE_SPACE}]"  # neither letter nor digit
_CASELESS = rf"[^\p{{Lu}}\p{{Ll}}{WHITE_SPACE}]"
# Possessive repetition (*+) never gives characters back, so that a word of a million letters costs a million steps.
_CLASSES = {
    "number": rf"{_SIGN}*+\p{{N}}[^\p{{L}}{WHITE_SPACE}]*+(?:st|nd|rd|th|s)?{_SIGN}*+{_END}",
    "all-capitals": rf"{_CASELESS}*+\p{{Lu}}{_CASELESS}*+\p{{Lu}}[^\p{{Ll}}{WHITE_SPACE}]*+{_END}",
    "capitalised": rf"{_SIGN}*+[\p{{Lu}}\p{{Lt}}]",
    "hyphenated": rf"{_SIGN}*+[\p{{L}}\p{{N}}][^-‐‑{WHITE_SPACE}]*+[-‐‑]{_SIGN}*+[\p{{L}}\p{{N}}]",
    "punctuation": rf"{_SIGN}++{_END}",
}
CLASS_TOKENS = [f"<unk:{name}>" for name in _CLASSES]
_PARTS = [part for name in _CLASSES for part in (f"<unk:{name}", f":{name}>")]

# A regular expression may nest a few thousand deep; deeper than this, the trie becomes a plain list of its words.
_TRIE_DEPTH = 64


class UnknownWordError(ValueError):
    """A word is outside the vocabulary of a tokenizer that has no unknown token: a text with it has probability 0.

    Attributes:
        word: the word.
    """

    def __init__(self, word: str) -> None:
        super().__init__(
            f"the word {shorten(word)} is not in the vocabulary, and this tokenizer has no unknown token; "
            "train it with unk_token='<unk>' or unknown_words='spelled', or leave such texts out"
        )
        self.word = word

    def __reduce__(self) -> tuple[type[UnknownWordError], tuple[str]]:
        # By default an exception is pickled with its message as argument, where __init__ takes the word.
        return type(self), (self.word,)


def unknown_class(word: str) -> str | None:
    """Return the class of any word by its spelling; None for a word of no class.

    The first class that fits, in this order:

    - number: a digit, and no letter but an ending st, nd, rd, th or s;
    - all-capitals: two capital letters or more, and no small letter;
    - capitalised: the first letter or digit is a capital (or titlecase) letter;
    - hyphenated: a hyphen somewhere between two letters or digits;
    - punctuation: neither letter nor digit.

    Letters, digits and capitals are Unicode's L, N and Lu; scripts without capitals have words of no class.

    >>> [unknown_class(word) for word in ("-$12.3", "1990s", "COVID-19", "U.S.", "U.S.-based", "'Tis")]
    ['number', 'number', 'all-capitals', 'all-capitals', 'capitalised', 'capitalised']
    >>> [unknown_class(word) for word in ("1,000-page", "anti-Hutu", "@-@", "iPhone", "4x4", "don't")]
    ['hyphenated', 'hyphenated', 'punctuation', None, None, None]
    """
    return next(iter(_classes_of([word])))


def class_normalizer(vocabulary: Iterable[str]) -> Sequence:
    """Return the normalizer that replaces every word outside `vocabulary` by the token of its class, if it has one.

    Words with white space inside are skipped, since no text yields them.

    >>> class_normalizer(["Paris", "cat"]).normalize_str("Paris Oslo cat zebra 12")
    'Paris <unk:capitalised> cat zebra <unk:number>'
    """
    words = [word for word in vocabulary if split_words(word) == [word]]
    known: dict[str, list[str]] = {name: [] for name in _CLASSES}
    for word, name in zip(words, _classes_of(words), strict=True):
        if name is not None:
            known[name].append(word)
    return Sequence([rule for name in _CLASSES for rule in _rules(name, known[name])])


def is_class_normalizer(normalizer: Normalizer | None) -> bool:
    """Return whether `class_normalizer` made `normalizer`."""
    if not isinstance(normalizer, Sequence):
        return False
    rules = [(rule["type"], rule.get("content")) for rule in json.loads(_state(normalizer))["normalizers"]]
    # Older folders write the token of a class in one part, which has the place of its word's last letter.
    return rules in ([("Replace", part) for part in parts] for parts in (_PARTS, CLASS_TOKENS))


def spelling_backend(words: Iterable[str], letters: Iterable[str]) -> Tokenizer:
    """Return the pipeline that keeps `words` whole and spells all others; ids follow the order of the arguments.

    >>> spelling_backend(["cat"], "act").encode("cat acté").tokens
    [' cat', ' ', 'a', 'c', 't', '<0xC3>', '<0xA9>']
    """
    tokens = [*(MARK + word for word in words), MARK, *letters, *BYTE_TOKENS]
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    # ignore_merges: a piece that is in the vocabulary stays whole.
    backend = Tokenizer(BPE(vocabulary, merges=[], ignore_merges=True, byte_fallback=True))
    backend.pre_tokenizer = _spelling_pre_tokenizer()
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(MARK, 1, 0)])
    return backend


def is_spelling_pre_tokenizer(pre_tokenizer: PreTokenizer | None) -> bool:
    """Return whether `pre_tokenizer` is the one of `spelling_backend`."""
    return pre_tokenizer is not None and _state(pre_tokenizer) == _state(_spelling_pre_tokenizer())


def trie_pattern(words: Iterable[str], depth: int = _TRIE_DEPTH) -> str:
    """Return a regular expression that matches exactly `words`, with each common beginning written once.

    >>> trie_pattern(["Paris", "Parity", "Par"]), trie_pattern(["1.5"])
    ('Par(?:i(?:s|ty))?', '1\\\\x{2E}5')
    """
    first, *more = ordered = sorted(set(words))
    if not more:
        return _escape(first)
    # All words between the first and the last share the common beginning of these two.
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, more[-1], strict=False))
    prefix = "".join(char for char, _ in pairs)
    tails = [word[len(prefix) :] for word in (more if first == prefix else ordered)]
    if depth:
        branches = [trie_pattern(branch, depth - 1) for _, branch in groupby(tails, key=lambda tail: tail[0])]
    else:
        branches = [_escape(tail) for tail in tails]
    return f"{_escape(prefix)}(?:{'|'.join(branches)}){'?' if first == prefix else ''}"


def _spelling_pre_tokenizer() -> PreTokenizers:
    return PreTokenizers([WhitespaceSplit(), Metaspace(replacement=MARK, prepend_scheme="always", split=False)])


def _state(part: Normalizer | PreTokenizer) -> bytes:
    try:
        return part.__getstate__()
    except Exception:  # a part written in Python, which cannot be saved
        return b'{"normalizers": []}'


def _escape(text: str) -> str:
    return "".join(char if char.isalnum() else f"\\x{{{ord(char):X}}}" for char in text)


def _rules(name: str, known: Iterable[str]) -> list[Replace]:
    """Return the rules that replace the unknown words of a class by its token."""
    before = list(_CLASSES)[: list(_CLASSES).index(name)]
    of_class = "".join(f"(?!{_CLASSES[other]})" for other in before) + f"(?={_CLASSES[name]})"
    # Class tokens of the text, and those that earlier rules have written, stay.
    kept = trie_pattern([*CLASS_TOKENS, *known])
    first = f"(?<!{_IN_WORD}){of_class}(?!{kept}{_END}){_IN_WORD}"
    # The token is written in two parts: one gets the place of the word's first letter, the other that of its last.
    begun, end = f"<unk:{name}", f":{name}>"
    whole = trie_pattern([">", *(word.removeprefix(begun) for word in known if word.startswith(begun))])
    rest = f"{end[:-1]}(?<=\\A{begun}|[{WHITE_SPACE}]{begun})(?!{whole}{_END}){_IN_WORD}*"
    return [Replace(Regex(first), begun), Replace(Regex(rest), end)]


@cache
def _classifier() -> Sequence:
    return Sequence([rule for name in _CLASSES for rule in _rules(name, [])])


def _classes_of(words: list[str]) -> list[str | None]:
    names = dict(zip(CLASS_TOKENS, _CLASSES, strict=True))
    classified = _classifier().normalize_str("\n".join(words)).split("\n") if words else []
    return [None if word in names else names.get(found) for word, found in zip(words, classified, strict=True)]
