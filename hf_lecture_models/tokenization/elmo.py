# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words as rows of their characters, the bytes of UTF-8 (Peters et al. 2018), numbered as in AllenNLP and bilm-tf.

A word has `max_characters_per_token` ids, by default 50: begin of word (259), its bytes (1 to 256, each one more than
its value), end of word (260), and blanks (261) up to the length. `<S>` and `</S>` are words of one character, 257 and
258. A row of zeros is padding. This file travels with exported models.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy

from hf_lecture_models.io.compat import PythonBackend
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.saved_json import check_tokenizer_files
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.train_options import check_train_options

_BEGIN_TEXT, _END_TEXT, _BEGIN_WORD, _END_WORD, _BLANK, _NUM_CHARACTERS = 257, 258, 259, 260, 261, 262
_SPECIAL = {"pad_token": "<pad>", "bos_token": "<S>", "eos_token": "</S>"}
_UNKNOWN = "<UNK>"
# All other tokenizers here split at the Rust library's white space. Python's has four characters more.
_WORD = re.compile(r"(?:\S|[\x1c-\x1f])+")
# The values at padding, by the names of inputs.
_PADDING: dict[str, int] = {"attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}
# Written by transformers into the options of a tokenizer that it loads.
_HOW_LOADED = ("is_local", "local_files_only")
_LONGEST_PADDING = 10**6


@dataclass(frozen=True)
class WordEncoding:
    """A text or pair of texts, word by word, with the attributes of `tokenizers.Encoding`.

    Attributes:
        tokens: the words, special ones included, as in all other attributes.
        offsets: where each word begins and ends in its text, or in itself if the text was given as words; (0, 0) for
            special ones.
        word_ids: the number of each word in its text, None for special ones.
        sequence_ids: 0 for the first text, 1 for the second, None for special ones.
        attention_mask: 0 at padding, whose word is `<pad>`, else 1.
        overflowing: the next windows of a text that was cut.
    """

    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    attention_mask: list[int]
    overflowing: list[WordEncoding]

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special words."""
        return [int(number is None) for number in self.word_ids]

    @property
    def n_sequences(self) -> int:
        """1 for a text, 2 for a pair."""
        return 1 + (1 in self.sequence_ids)

    def padded(self, width: int, side: str) -> WordEncoding:
        """Return the encoding with padding on the "left" or "right", up to `width` words."""
        gap = max(0, width - len(self.tokens))

        def fill(values: list[Any], value: Any) -> list[Any]:
            return [value] * gap + values if side == "left" else values + [value] * gap

        return WordEncoding(
            fill(self.tokens, _SPECIAL["pad_token"]),
            fill(self.offsets, (0, 0)),
            fill(self.word_ids, None),
            fill(self.sequence_ids, None),
            fill(self.attention_mask, 0),
            self.overflowing,
        )


# Each word, its offsets, and its number in the text.
_Text = list[tuple[str, tuple[int, int], int]]


class ElmoTokenizer(PythonBackend):
    """Words between white space, each as a row of 50 character ids, with `<S>` before a text and `</S>` after it.

    `input_ids` are (batch, seq, 50). A pair is `<S> a </S> <S> b </S>`. No word is unknown, and decoding gives the
    words back; as in AllenNLP, longer ones are cut after 48 bytes, even within a character, and words that are spelled
    `<S>` and `</S>` are the special ones. Padding is on the right.

    The tokenizer gives offsets (`return_offsets_mapping`, `word_ids()`), although it is written in Python and `is_fast`
    is False. Pipelines of text classification, feature extraction and extractive question answering work. transformers'
    token-classification does not, because it needs one id per token: tag with `hf-lecture predict`, with `--aggregate`
    for entities, or with the model.

    `words` are the words that `ElmoForPreTraining` predicts, by their numbers; no other model reads them.

    >>> tokenizer = ElmoTokenizer()
    >>> tokenizer("a cat").input_ids[1][:5]
    [259, 98, 260, 261, 261]
    >>> tokenizer.decode(tokenizer("a cat").input_ids)
    '<S> a cat </S>'

    Args:
        vocab_file: `words`, one per line.
        max_characters_per_token: ids of each word, at least 3.
        kwargs: options of `transformers.PythonBackend`; the spellings of the special words are fixed.

    Raises:
        ValueError: the file is not a list of different words, or an option has an impossible value.
    """

    vocab_files_names = {"vocab_file": "vocab.txt"}
    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"
    gives_offsets = True
    """Tasks and pipelines of the package ask for offsets if this is True, whatever `is_fast` is."""

    def __init__(self, vocab_file: str | None = None, max_characters_per_token: int = 50, **kwargs: Any) -> None:
        if max_characters_per_token < 3:
            raise ValueError(f"max_characters_per_token must be at least 3, not {max_characters_per_token}")
        for name, spelling in _SPECIAL.items():
            if str(kwargs.setdefault(name, spelling)) != spelling:
                raise ValueError(f"{name} is {spelling!r} in ElmoTokenizer, not {kwargs[name]!r}; leave it out")
        kwargs.setdefault("clean_up_tokenization_spaces", False)  # saved, because JavaScript's default is True
        self.max_characters_per_token = max_characters_per_token
        self.words: list[str] = [] if vocab_file is None else _read_words(vocab_file)
        super().__init__(max_characters_per_token=max_characters_per_token, **kwargs)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Load as transformers does; errors name the file and the field of a local folder that has a wrong type."""
        check_tokenizer_files(Path(folder, kwargs.get("subfolder") or ""))
        return super().from_pretrained(folder, *args, **kwargs)

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | None = None,
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> ElmoTokenizer:
        """Return the tokenizer, with the words of `texts` to predict: the most frequent first, then by code point.

        >>> ElmoTokenizer.train(["a cat", "a dog"]).words
        ['<S>', '</S>', '<UNK>', 'a', 'cat', 'dog']

        Args:
            texts: any iterable of str; None for no words.
            vocab_size: the largest number of words, `<S>`, `</S>` and `<UNK>` included.
            min_count: a word that occurs less often is left out.
            progress: whether to show the progress of more than five seconds.
            max_characters_per_token: ids of each word.
            kwargs: other options of the tokenizer.

        Raises:
            TypeError: `texts` is one str or holds something that is not a str; or there is no such option.
            ValueError: `vocab_size` or `min_count` is too small.
        """
        check_train_options(cls, min_count, kwargs)
        special = [_SPECIAL["bos_token"], _SPECIAL["eos_token"], _UNKNOWN]
        if vocab_size is not None and vocab_size <= len(special):
            raise ValueError(f"vocab_size {vocab_size} leaves no room for words beside {', '.join(special)}")
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of str, such as a list or a file's lines, not a str")
        tokenizer = cls(max_characters_per_token=max_characters_per_token, **kwargs)
        if texts is not None:
            bar = ProgressBar(plain_texts(texts), desc="counting words", unit=" texts", shown=progress)
            counts = Counter(word for text in bar for word in _WORD.findall(text))
            found = [word for word, count in counts.items() if count >= min_count and word not in special]
            words = sorted(sorted(found), key=counts.__getitem__, reverse=True)
            tokenizer.words = [*special, *words[: vocab_size and vocab_size - len(special)]]
        return tokenizer

    @property
    def vocab_size(self) -> int:
        """262, the number of character ids."""
        return _NUM_CHARACTERS

    def get_vocab(self) -> dict[str, int]:
        """Return character ids by name; the names of bytes are `<0x00>` to `<0xFF>`."""
        names = [_SPECIAL["pad_token"], *(f"<0x{byte:02X}>" for byte in range(256))]
        names += [_SPECIAL["bos_token"], _SPECIAL["eos_token"], "<word>", "</word>", "<blank>"]
        return {name: number for number, name in enumerate(names)}

    def characters(self, word: str) -> list[int]:
        """Return the ids of one word; `<pad>` is an ordinary word here."""
        ends = {_SPECIAL["bos_token"]: [_BEGIN_TEXT], _SPECIAL["eos_token"]: [_END_TEXT]}
        most = self.max_characters_per_token - 2
        ids = ends.get(word) or [byte + 1 for byte in word.encode("utf-8", "ignore")[:most]]
        return [_BEGIN_WORD, *ids, _END_WORD] + [_BLANK] * (most - len(ids))

    def word_numbers(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of words in `self.words`, and the number of `<UNK>` for all others.

        Raises:
            ValueError: the tokenizer has no words.
        """
        if not self.words:
            raise ValueError("this ElmoTokenizer has no words to predict; make one by ElmoTokenizer.train(texts)")
        number_of = {word: number for number, word in enumerate(self.words)}
        unknown = number_of[_UNKNOWN]
        return [number_of.get(word, unknown) for word in words]

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the words of a text, or of a pair."""
        texts = [_words_of(own, split=False) for own in (text, pair) if own is not None]
        return _encoding(texts, add_special_tokens).tokens

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the one character id of a special word, the row of any other word, or the rows of several words."""
        if isinstance(tokens, str):
            return self.get_vocab()[tokens] if tokens in _SPECIAL.values() else self.characters(tokens)
        return [self.characters(token) for token in tokens]

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Return the word of a row of characters, the words of several rows, or the name of one character id."""
        ids = np.asarray(ids)
        if ids.ndim == 0:
            return list(self.get_vocab())[int(ids)]
        words = [_word(row) for row in np.atleast_2d(ids).tolist()] if ids.size else []
        if skip_special_tokens:
            words = [word for word in words if word not in _SPECIAL.values()]
        return words[0] if ids.ndim == 1 and words else words

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        """Return the words of (seq, characters) ids, joined by spaces; a list of texts for a batch."""
        ids = np.asarray(token_ids)
        if ids.ndim > 2 or (ids.dtype == object and len(ids)):
            return [self.decode(row, skip_special_tokens) for row in token_ids]
        words = self.convert_ids_to_tokens(ids, skip_special_tokens)
        return words if isinstance(words, str) else " ".join(words)

    def batch_decode(  # type: ignore[override]
        self, sequences: Any, skip_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the text of each sequence; see `decode`."""
        return [self.decode(row, skip_special_tokens) for row in sequences]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Return 2 for a text, 4 for a pair."""
        return 4 if pair else 2

    def get_special_tokens_mask(
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for special words and 0 for others; rows without special words are taken as if they had them."""
        if already_has_special_tokens:
            return [int(_word(list(row)) in _SPECIAL.values()) for row in np.asarray(token_ids_0).tolist()]
        inner = [[0] * len(ids) for ids in (token_ids_0, token_ids_1) if ids is not None]
        return [flag for mask in inner for flag in (1, *mask, 1)]

    def _encode_plus(  # type: ignore[override]
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        return_tensors: Any = None,
        return_overflowing_tokens: bool = False,
        **options: Any,
    ) -> BatchEncoding:
        batched, pairs = _pairs(text, text_pair, is_split_into_words)
        is_cut = truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE
        encodings: list[WordEncoding] = []
        places: list[int] = []
        for place, pair in enumerate(pairs):
            texts = [_words_of(own, is_split_into_words) for own in pair]
            if is_cut and max_length is not None:
                special = self.num_special_tokens_to_add(len(texts) == 2) if add_special_tokens else 0
                windows = _windows(texts, max_length - special, truncation_strategy.value, stride, self.truncation_side)
            else:
                windows = [texts]
            first, *rest = (_encoding(window, add_special_tokens) for window in windows)
            encodings += [first, *rest] if return_overflowing_tokens else [replace(first, overflowing=rest)]
            places += [place] * (len(encodings) - len(places))
        side = options.get("padding_side") or self.padding_side
        strategy, multiple = options.get("padding_strategy"), options.get("pad_to_multiple_of")
        lengths = [len(encoding.tokens) for encoding in encodings]
        width = self._width(lengths, getattr(strategy, "value", "do_not_pad"), max_length, multiple)
        encodings = [encoding.padded(width, side) for encoding in encodings]
        data = self._inputs(encodings, options)
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = places
        single = not batched and not return_overflowing_tokens
        data = {name: values[0] for name, values in data.items()} if single else data
        return BatchEncoding(data, encodings, return_tensors, prepend_batch_axis=single)  # type: ignore[arg-type]

    def _inputs(self, encodings: Sequence[WordEncoding], options: Mapping[str, Any]) -> dict[str, list[Any]]:
        zeros = [0] * self.max_characters_per_token
        rows = [zip(encoding.tokens, encoding.attention_mask, strict=True) for encoding in encodings]
        data: dict[str, list[Any]] = {
            "input_ids": [[self.characters(word) if real else zeros for word, real in row] for row in rows]
        }
        if options.get("return_token_type_ids"):
            data["token_type_ids"] = [_type_ids(encoding) for encoding in encodings]
        if options.get("return_attention_mask") is not False:
            data["attention_mask"] = [encoding.attention_mask for encoding in encodings]
        if options.get("return_special_tokens_mask"):
            data["special_tokens_mask"] = [encoding.special_tokens_mask for encoding in encodings]
        if options.get("return_offsets_mapping"):
            data["offset_mapping"] = [encoding.offsets for encoding in encodings]
        if options.get("return_length"):
            data["length"] = [len(encoding.tokens) for encoding in encodings]
        return data

    def _width(self, lengths: Iterable[int], padding: Any, max_length: int | None, multiple: int | None) -> int:
        """Return the number of words that rows are padded to; 0 for no padding."""
        if padding in (False, "do_not_pad"):
            return 0
        width = max(lengths, default=0)
        if padding == "max_length":
            width = max_length or self.model_max_length
            if width > _LONGEST_PADDING:
                raise ValueError("padding='max_length' wants a max_length, since the tokenizer has no longest input")
        return -(-width // multiple) * multiple if multiple else width

    def pad(
        self,
        encoded_inputs: Any,
        padding: Any = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Any = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Return rows of one length; the padding is words of zeros, where the attention mask is 0.

        Args:
            encoded_inputs: the tokenizer's output for one text or for several, or a list of such outputs, as collators
                have it.
        """
        if isinstance(encoded_inputs, Mapping):
            alone = np.ndim(encoded_inputs["input_ids"][0]) < 2 and not _is_batch(encoded_inputs["input_ids"])
            columns = {name: [value] if alone else value for name, value in encoded_inputs.items()}
        else:
            alone = False
            columns = {name: [example[name] for example in encoded_inputs] for name in encoded_inputs[0]}
        rows: list[list[Any]] = [_list(row) for row in columns["input_ids"]]
        if return_attention_mask is not False:
            columns.setdefault("attention_mask", [[1] * len(row) for row in rows])
        width = self._width(map(len, rows), getattr(padding, "value", padding), max_length, pad_to_multiple_of)
        on_left = (padding_side or self.padding_side) == "left"
        fills = {**_PADDING, "input_ids": [0] * self.max_characters_per_token}
        data: dict[str, list[Any]] = {}
        for name, values in columns.items():
            data[name] = [_list(value) for value in values]
            if name in fills:
                gaps = [[fills[name]] * max(0, width - len(row)) for row in rows]
                own = zip(data[name], gaps, strict=True)
                data[name] = [gap + value if on_left else value + gap for value, gap in own]
        found = {name: values[0] for name, values in data.items()} if alone else data
        return BatchEncoding(found, tensor_type=return_tensors)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        """Write `vocab.txt`, the words to predict, one per line."""
        path = Path(save_directory, f"{filename_prefix}-vocab.txt" if filename_prefix else "vocab.txt")
        path.write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")
        return (str(path),)

    def save_pretrained(self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any) -> tuple[str, ...]:
        """Save `vocab.txt` and `tokenizer_config.json`, written beside and renamed into place; return their paths."""
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", os.path.basename(os.path.normpath(save_directory)))
        for name in _HOW_LOADED:
            self.init_kwargs.pop(name, None)
        with staged_folder(save_directory) as stage:
            files = super().save_pretrained(stage, *args, **kwargs)
        return tuple(os.path.join(save_directory, os.path.relpath(file, stage)) for file in files)


def _read_words(path: str) -> list[str]:
    try:
        words = Path(path).read_text(encoding="utf-8-sig").split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}); copy or save it again") from None
    if words and (len(set(words)) < len(words) or not {*_SPECIAL.values()} - {_SPECIAL["pad_token"]} < {*words}):
        raise ValueError(f"{path} is no list of different words with <S> and </S> among them; save it again")
    if words and _UNKNOWN not in words:
        raise ValueError(f"{path} has no word {_UNKNOWN}, which all others are taken for; add it")
    return words


def _pairs(text: Any, pair: Any, split: bool) -> tuple[bool, list[tuple[Any, ...]]]:
    """Return whether there are several texts, and a tuple for each: the text alone or with its pair."""
    batched = isinstance(text, list | tuple) and (not split or (len(text) > 0 and isinstance(text[0], list | tuple)))
    if not batched:
        return False, [(text,) if pair is None else (text, pair)]
    if pair is not None:
        if not isinstance(pair, list | tuple) or len(pair) != len(text):
            raise ValueError("text and text_pair are not equally many; give as many of both")
        return True, list(zip(text, pair, strict=True))
    # If the words are split already, a list is one text.
    kinds = tuple if split else (list, tuple)
    rows = [tuple(own) if isinstance(own, kinds) else (own,) for own in text]
    for row in rows:
        if not 1 <= len(row) <= 2:
            raise ValueError(
                f"{len(row)} texts are no pair; words that are split already need is_split_into_words=True"
            )
    return True, rows


def _words_of(text: Any, split: bool) -> _Text:
    if split:
        if isinstance(text, str) or not all(isinstance(word, str) for word in text):
            raise ValueError(f"with is_split_into_words=True a text is a list of words, not {text!r}")
        return [(word, (0, len(word)), number) for number, word in enumerate(text)]
    if not isinstance(text, str):
        raise ValueError(
            f"a text is a str, not a {type(text).__name__}; words that are split already need is_split_into_words=True"
        )
    return [(found[0], found.span(), number) for number, found in enumerate(_WORD.finditer(text))]


def _windows(texts: list[_Text], most: int, strategy: str, stride: int, side: str) -> list[list[_Text]]:
    """Return the texts cut to `most` words, then the next windows; each begins with `stride` words of the one before.

    >>> words = [(word, (0, 1), number) for number, word in enumerate("abcde")]
    >>> [[word for word, _, _ in text] for text, in _windows([words], 3, "only_first", 1, "right")]
    [['a', 'b', 'c'], ['c', 'd', 'e']]
    """
    if most < 0:
        raise ValueError(f"max_length has no room for the special tokens, {-most} more; raise it")
    if sum(map(len, texts)) <= most:
        return [texts]
    if strategy == "longest_first" and len(texts) == 2:
        short = min(map(len, texts))
        keep = max(most - short, -(-most // 2))
        sizes = [min(len(text), keep if len(text) > short or text is texts[0] else most - keep) for text in texts]
        sizes[1] = min(sizes[1], most - sizes[0])
        return [
            [text[-size:] if side == "left" and size else text[:size] for text, size in zip(texts, sizes, strict=True)]
        ]
    cut = 1 if strategy == "only_second" and len(texts) == 2 else 0
    long, size = texts[cut], most - sum(len(text) for index, text in enumerate(texts) if index != cut)
    if size <= stride:
        raise ValueError(
            f"truncation={strategy!r} leaves {max(size, 0)} words for the text that it cuts, and windows share stride="
            f"{stride}; raise max_length, or lower stride"
        )
    ends = [*range(size, len(long), size - stride), len(long)]
    spans = [(end - size if end < len(long) else (len(ends) - 1) * (size - stride), end) for end in ends]
    if side == "left":
        spans = [(len(long) - end, len(long) - start) for start, end in spans]
    return [[long[slice(*span)] if index == cut else text for index, text in enumerate(texts)] for span in spans]


def _encoding(texts: Sequence[_Text], add_special_tokens: bool) -> WordEncoding:
    rows: list[tuple[str, tuple[int, int], int | None, int | None]] = []
    for index, text in enumerate(texts):
        own = [(word, offsets, number, index) for word, offsets, number in text]
        ends = [
            [(_SPECIAL[name], (0, 0), None, None)] if add_special_tokens else [] for name in ("bos_token", "eos_token")
        ]
        rows += [*ends[0], *own, *ends[1]]
    tokens, offsets, numbers, sequences = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    return WordEncoding(tokens, offsets, numbers, sequences, [1] * len(rows), [])


def _type_ids(encoding: WordEncoding) -> list[int]:
    """Return 1 from the second `<S>` on, 0 before it."""
    if 1 not in encoding.sequence_ids:
        return [0] * len(encoding.tokens)
    first = encoding.sequence_ids.index(1)
    first -= encoding.word_ids[first - 1] is None
    return [int(index >= first and bool(real)) for index, real in enumerate(encoding.attention_mask)]


def _word(row: Sequence[int]) -> str:
    """Return the word of a row of characters."""
    if not any(row):
        return _SPECIAL["pad_token"]
    if _BEGIN_TEXT in row or _END_TEXT in row:
        return _SPECIAL["bos_token" if _BEGIN_TEXT in row else "eos_token"]
    return bytes(number - 1 for number in row if 0 < number <= 256).decode("utf-8", "replace")


def _is_batch(ids: Any) -> bool:
    """Return whether `ids` belong to several texts; some may be empty."""
    return any(len(row) and np.ndim(row[0]) > 0 for row in ids if not isinstance(row, int))


def _list(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value
