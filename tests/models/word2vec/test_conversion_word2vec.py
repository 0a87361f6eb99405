# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec files: as gensim writes and reads them, and every way in which one may be damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from hf_lecture_models import Word2VecConfig, Word2VecModel, WordTokenizer
from hf_lecture_models.cli.convert import run
from hf_lecture_models.models.word2vec.reader_word2vec import MAX_WORD_BYTES, is_word2vec_file, read_word2vec
from tests.memory import memory_taken

WORDS = ["the", "cat", "zoë", "人", "</s>", "New_York"]
VECTORS = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
KINDS = {"binary": True, "text": False}


def file_of(
    path: Path, binary: bool, words: list[Any] = WORDS, vectors: np.ndarray = VECTORS, newline: bool = False
) -> Path:
    rows = [f"{len(words)} {vectors.shape[1]}\n".encode()]
    for word, vector in zip(words, vectors, strict=True):
        word = word if isinstance(word, bytes) else word.encode()
        numbers = vector.tobytes() + b"\n" * newline if binary else " ".join(map(str, vector)).encode() + b"\n"
        rows.append(word + b" " + numbers)
    path.write_bytes(b"".join(rows))
    return path


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_what_was_written_is_read(binary: bool, tmp_path: Path) -> None:
    """As word2vec.c and gensim end a vector, gzip or not; `<unk>` and what else the file lacks are zeros."""
    path = file_of(tmp_path / "vectors", binary)
    for number, data in enumerate((path.read_bytes(), file_of(tmp_path / "c", binary, newline=True).read_bytes())):
        for packed in (False, True):
            (tmp_path / f"{number}{packed}").write_bytes(gzip.compress(data) if packed else data)
            model, tokenizer = Word2VecModel.from_word2vec_format(tmp_path / f"{number}{packed}", binary=binary)
            rows = model.embed_tokens.weight.detach().numpy()
            assert (rows[tokenizer.convert_tokens_to_ids(WORDS)] == VECTORS).all()
            assert tokenizer.tokenize("the cat of zoë") == ["the", "cat", "<unk>", "zoë"]
            assert not rows[[tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id]].any()
            assert model.config.special_ids == [0, 6, 7, 8]


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_gensim_loads_ours_and_we_gensims(binary: bool, tmp_path: Path) -> None:
    """Bit for bit."""
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    model, tokenizer = Word2VecModel.from_word2vec_format(file_of(tmp_path / "a", binary), binary=binary)
    for name in ("ours", "ours.gz"):
        model.save_word2vec_format(tmp_path / name, tokenizer, binary=binary)
        theirs = keyed.load_word2vec_format(str(tmp_path / name), binary=binary)
        assert sorted(theirs.index_to_key) == sorted(WORDS)
        for word, vector in zip(WORDS, VECTORS, strict=True):
            assert theirs[word].tobytes() == vector.tobytes()
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    again, its_tokenizer = Word2VecModel.from_word2vec_format(tmp_path / "theirs", binary=binary)
    assert its_tokenizer.get_vocab() == tokenizer.get_vocab()
    assert torch.equal(again.embed_tokens.weight, model.embed_tokens.weight)


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_a_file_that_is_cut_off_anywhere_is_refused(binary: bool, tmp_path: Path) -> None:
    """But a text's last line needs no line feed, so that a part of its last number is read as a number."""
    whole = file_of(tmp_path / "whole", binary).read_bytes()
    numbers = len(whole) if binary else whole.rindex(b" ")
    for name, data, most in (("cut", whole, numbers), ("cut.gz", packed := gzip.compress(whole), len(packed))):
        for size in range(most):
            (tmp_path / name).write_bytes(data[:size])
            with pytest.raises(ValueError, match=str(tmp_path)):
                read_word2vec(tmp_path / name, binary)


def test_sizes_that_the_file_cannot_hold_take_no_memory(tmp_path: Path) -> None:
    for header in (b"10000000 300\n", b"999999999999999999 1\n", b"1 65536\n"):
        for binary in (True, False):
            (tmp_path / "huge").write_bytes(header + b"a 1 2 3\n")
            refused = pytest.raises(ValueError, match=r"can hold \d+ only; it is cut off, or its first line")
            with memory_taken() as memory, refused:
                read_word2vec(tmp_path / "huge", binary)
            assert memory.python + memory.torch < 10**6


BAD = {
    "no_header": (b"the cat sat\non the mat\n", "begins with b'the cat sat"),
    "one number": (b"3 5", "begins with b'3 5'"),
    "empty": (b"", "begins with b''"),
    "negative": (b"-1 5\n", "begins with"),
    "no_words": (b"0 5\n", "0 words of width 5"),
    "no_width": (b"5 0\n" + b" " * 99, "5 words of width 0"),
    "wide": (b"1 70000\n" + b" " * 300_000, "widths are from 1 to 65536"),
    "gensim": (b"\x80\x04\x95" + b" " * 99, "a pickle, as gensim's own `save`"),
    "fasttext": (b"\xba\x16\x4f\x2f" + b" " * 99, "a fastText model"),
    "zip": (b"PK\x03\x04" + b" " * 99, "a zip archive"),
    "gzip": (b"\x1f\x8b" + b" " * 99, "damaged gzip file"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_word2vec_file_is_named(name: str, tmp_path: Path) -> None:
    data, message = BAD[name]
    (tmp_path / "file").write_bytes(data)
    for binary in (True, False):
        with pytest.raises(ValueError, match=message):
            read_word2vec(tmp_path / "file", binary)


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_damage_is_named_with_its_place(binary: bool, tmp_path: Path) -> None:
    nan = VECTORS.copy()
    nan[3, 2] = np.nan
    infinite = VECTORS.copy()
    infinite[1, 0] = -np.inf
    cases = [
        (WORDS, nan, r"the vector of '人' holds NaN"),
        (WORDS, infinite, r"the vector of 'cat' holds NaN or infinity"),
        (["the", "", "c", "a", "b", "d"], VECTORS, r"byte \d+: a word is empty"),
        (["the", b"\xff\xfe", "c", "a", "b", "d"], VECTORS, r"byte \d+: the word .* is not utf-8 .* errors='replace'"),
        (["the", "x" * (MAX_WORD_BYTES + 2000), "c", "a", "b", "d"], VECTORS, "longer than"),
    ]
    for words, vectors, message in cases:
        with pytest.raises(ValueError, match=message):
            read_word2vec(file_of(tmp_path / "bad", binary, words, vectors), binary)
    data = file_of(tmp_path / "bad", binary).read_bytes()
    (tmp_path / "bad").write_bytes(data.replace(b"6 5", b"7 5", 1))
    with pytest.raises(ValueError, match=r"says that it holds 7 words .*wrong|word 7 of 7.* correct the number"):
        read_word2vec(tmp_path / "bad", binary)
    (tmp_path / "bad").write_bytes(data.replace(b"6 5", b"6 4", 1))
    with pytest.raises(ValueError, match=r"byte \d+"):
        read_word2vec(tmp_path / "bad", binary)


def test_encodings(tmp_path: Path) -> None:
    words = [word.encode("latin-1") for word in ("naïve", "café")]
    path = file_of(tmp_path / "latin", True, words, VECTORS[:2])
    assert Word2VecModel.from_word2vec_format(path, encoding="latin-1")[1].tokenize("café") == ["café"]
    assert read_word2vec(path, errors="ignore")[0] == ["nave", "caf"]
    with pytest.raises(LookupError, match="klingon"):
        read_word2vec(path, encoding="klingon")


def test_text_lines_are_checked(tmp_path: Path) -> None:
    for line, message in (("cat 1 2", "2 numbers follow the word, where 3"), ("cat 1 x 2", "could not convert")):
        (tmp_path / "bad").write_text(f"2 3\nthe 1 2 3\n{line}\n")
        with pytest.raises(ValueError, match=f"line 3, word 2 of 2: {message}"):
            read_word2vec(tmp_path / "bad", binary=False)


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_words_with_white_space_are_kept_with_a_warning_and_written(binary: bool, tmp_path: Path) -> None:
    """All but the space and the line feed, which end a word for the reader and for gensim."""
    words = ["a\tb", "10\xa0000", "x\u2028y"]
    path = file_of(tmp_path / "spaces", binary, words, VECTORS[:3])
    with pytest.warns(UserWarning, match="3 words hold white space"):
        model, tokenizer = Word2VecModel.from_word2vec_format(path, binary)
    model.save_word2vec_format(tmp_path / "out", tokenizer, binary)
    again, vectors = read_word2vec(tmp_path / "out", binary)
    assert again == words
    assert (vectors == VECTORS[:3]).all()
    gensim = pytest.importorskip("gensim.models")
    assert gensim.KeyedVectors.load_word2vec_format(tmp_path / "out", binary=binary).index_to_key == words


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_words_with_separators_are_found_and_not_announced(binary: bool, tmp_path: Path) -> None:
    """Python's `str.split` splits at U+001C to U+001F, the tokenizer does not."""
    words = ["a\x1cb", "c\x1dd", "e\x1ff"]
    path = file_of(tmp_path / "separators", binary, words, VECTORS[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, tokenizer = Word2VecModel.from_word2vec_format(path, binary)
    assert tokenizer.tokenize(" ".join(words)) == words


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tokenizer = WordTokenizer.from_words(["a", "b"])
    model = Word2VecModel(Word2VecConfig(vocab_size=len(tokenizer), hidden_size=3, unk_token_id=0))
    with pytest.raises(ValueError, match="token"):
        model.save_word2vec_format(tmp_path / "out", WordTokenizer.from_words(list("abcdefgh")))
    with torch.no_grad():
        model.embed_tokens.weight[1, 1] = torch.inf
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.save_word2vec_format(tmp_path / "out", tokenizer)
    for word in ("a b", "a\nb"):
        its_own = WordTokenizer.from_words([word, "b"])
        with pytest.raises(ValueError, match="a space or line feed, which words of word2vec files cannot have"):
            model.save_word2vec_format(tmp_path / "out", its_own)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz", "v.vec", "v.txt.gz"])
def test_the_terminal_converts_there_and_back(name: str, tmp_path: Path, capsys: Any) -> None:
    words = ["the", "cat", "zoë"]
    plain = file_of(tmp_path / "plain", ".bin" in name, words, VECTORS[:3]).read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(plain) if name.endswith(".gz") else plain)
    run(str(tmp_path / name), tmp_path / "folder")
    model, tokenizer = (auto.from_pretrained(tmp_path / "folder") for auto in (AutoModel, AutoTokenizer))
    assert isinstance(model, Word2VecModel)
    ids = tokenizer("the zoë", add_special_tokens=False, return_tensors="pt")["input_ids"]
    assert (model(ids).last_hidden_state[0].detach().numpy() == VECTORS[[0, 2]]).all()
    (tmp_path / "back").mkdir()
    run(str(tmp_path / "folder"), tmp_path / "back" / name)
    back = (tmp_path / "back" / name).read_bytes()
    assert (gzip.decompress(back) if name.endswith(".gz") else back) == plain
    assert "words of width 5" in capsys.readouterr().out


# Text with the options that gensim needs for it, and those of ours that differ in name.
AS_GENSIM: dict[str, tuple[bytes, dict[str, Any], dict[str, Any]]] = {
    "no last line feed": (b"2 3\ncat 1 2 3\ndog 4 5 6.5", {}, {}),
    "line feeds at the end": (b"2 3\ncat 1 2 3\ndog 4 5 6\n\n", {}, {}),
    "trailing spaces": (b"2 3 \ncat 1 2 3 \ndog 4 5 6 \n", {}, {}),
    "CR LF": (b"2 3\r\ncat 1 2 3\r\ndog 4 5 6", {}, {}),
    "doubled": (b"4 3\ncat 1 2 3\ncat 4 5 6\ndog 7 8 9\ncat 0 0 0\n", {}, {}),
    "fewer words than there are": (b"1 3\ncat 1 2 3\ndog 4 5 6\n", {}, {}),
    "GloVe": (b"cat 1 2 3\ndog 4 5 6\n", {"no_header": True}, {}),
    "GloVe without a last line feed": (b"1 .1 2e-3 3\n2 4 5 6", {"no_header": True}, {}),
    "GloVe of a doubled word": (b"cat 1 2 3\ndog 4 5 6\ncat 7 8 9\n", {"no_header": True}, {}),
    "broken": (b"2 3\nc\xe9t 1 2 3\ndog 4 5 6\n", {"unicode_errors": "replace"}, {"errors": "replace"}),
    "broken, ignored": (b"2 3\nc\xe9t 1 2 3\ndog 4 5 6\n", {"unicode_errors": "ignore"}, {"errors": "ignore"}),
    "the same once broken": (
        b"2 3\nc\xe9t 1 2 3\nc\xe8t 4 5 6\n",
        {"unicode_errors": "replace"},
        {"errors": "replace"},
    ),
    "Latin 1": (b"2 3\nc\xe9t 1 2 3\nc\xe8t 4 5 6\n", {"encoding": "latin-1"}, {"encoding": "latin-1"}),
    "odd spaces in words": ("2 2\na\u00a0b 1 2\nc\u2028d 3 4\n".encode(), {}, {}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", AS_GENSIM)
def test_texts_are_read_as_gensim_reads_them(name: str, packed: bool, tmp_path: Path) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    data, theirs, ours = AS_GENSIM[name]
    path = tmp_path / ("vectors.txt.gz" if packed else "vectors.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    expected = keyed.load_word2vec_format(str(path), binary=False, **theirs)
    words, vectors = read_word2vec(path, binary=False, **ours)
    # For each row of a doubled word gensim adds a word None and a vector of zeros.
    assert words == [word for word in expected.index_to_key if word is not None]
    assert (vectors == expected.vectors[: len(words)]).all()


@pytest.mark.parametrize("binary", KINDS.values(), ids=KINDS)
def test_a_warning_names_what_is_left_out(binary: bool, tmp_path: Path) -> None:
    doubled = file_of(tmp_path / "doubled", binary, ["the", "cat", "the", "a", "the", "c"])
    with pytest.warns(UserWarning, match="doubled: 2 rows are of words that are there already, such as 'the'"):
        words, vectors = read_word2vec(doubled, binary)
    assert words == ["the", "cat", "a", "c"]
    assert (vectors == VECTORS[[0, 1, 3, 5]]).all()
    more = tmp_path / "more"
    more.write_bytes(file_of(tmp_path / "whole", binary).read_bytes().replace(b"6 5", b"4 5", 1))
    with pytest.warns(UserWarning, match="more has more than the 4 words of its first line; the others are left out"):
        words, vectors = read_word2vec(more, binary)
    assert words == WORDS[:4]
    assert (vectors == VECTORS[:4]).all()


def test_words_of_glove_may_have_spaces(tmp_path: Path) -> None:
    """As ". . ." in the file of 840 billion tokens, which gensim refuses; a number too many is still an error."""
    path = tmp_path / "glove.840B.300d.txt"
    path.write_bytes(b"cat 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9\n")
    words, vectors = read_word2vec(path, binary=False)
    assert words == ["cat", ". . .", "at name@domain.com"]
    assert vectors.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    with pytest.warns(UserWarning, match=r"2 words hold white space such as '. . .'"):
        _, tokenizer = Word2VecModel.from_word2vec_format(path, binary=False)
    assert tokenizer.tokenize("cat") == ["cat"]
    path.write_bytes(b"cat 1 2 3\ndog 4 5 6 7\n")
    with pytest.raises(ValueError, match=r"byte \d+: line 2: 4 numbers follow the word, where 3 are needed"):
        read_word2vec(path, binary=False)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    """Of GloVe's files too, whose first line is a word; gensim takes it for a letter."""
    path = tmp_path / "marked.txt"
    for header in (b"", b"2 2\n"):
        path.write_bytes(b"\xef\xbb\xbf" + header + b"cat 1 2\ndog 3 4\n")
        assert read_word2vec(path, binary=False)[0] == ["cat", "dog"]


def test_the_kind_of_a_file_is_in_it_whatever_its_name(tmp_path: Path) -> None:
    """Text named .bin was read as numbers by its letters, by gensim too: wrong words and vectors, without an error."""
    for binary, name in ((False, "vectors.bin"), (True, "vectors.vec"), (True, "vectors.txt.gz")):
        path = file_of(tmp_path / "right", binary).rename(tmp_path / name)
        words, vectors = read_word2vec(path, None)
        assert (words, vectors.tobytes()) == (WORDS, VECTORS.tobytes())
        assert is_word2vec_file(path)
        said = re.escape(f"is {'binary' if binary else 'text'}: read it with binary={binary}")
        with pytest.raises(ValueError, match=said):
            read_word2vec(path, not binary)
    for content in (b"the cat\nsat 1\n", b"PK\3\4", b"", b"\x89HDF"):
        (tmp_path / "other.bin").write_bytes(content)
        assert not is_word2vec_file(tmp_path / "other.bin")


def test_what_may_be_wrong_is_said(tmp_path: Path) -> None:
    """A text that ends within a number; what the rest of a vector makes of the next word, after a word with a space."""
    lines = b"cat 1.5 -2.5\ndog 3.5 4.25"
    for content in (lines, b"2 2\n" + lines):
        (tmp_path / "cut.txt").write_bytes(content[:-1])
        with pytest.warns(UserWarning, match="the last line does not end in a line feed; if the file was cut off"):
            assert read_word2vec(tmp_path / "cut.txt", None)[1][1, 1] == np.float32(4.2)
    numbers = np.array([[1, 2], [3, 2], [5, 6]], "<f4")
    path = file_of(tmp_path / "space", True, ["a", "New York", "dog"], numbers)
    with pytest.warns(UserWarning, match="1 words hold control characters, such as .*may have held a space"):
        assert read_word2vec(path, None)[0][:2] == ["a", "New"]
    path = file_of(tmp_path / "space", True, ["a", "New York", "dog"], VECTORS[:3])
    with pytest.raises(ValueError, match="is not utf-8 .* if it is binary, the word before may hold"):
        read_word2vec(path, None)


@pytest.mark.filterwarnings("error")
def test_words_of_glove_with_spaces(tmp_path: Path) -> None:
    """As in glove.840B.300d.txt; the lines may end in a space, in CR LF, and in an empty line."""
    words = ["the", ". . .", "at name@domain.com", "3 1/2", "<unk>"]
    for end in (b"\n", b" \n", b"\r\n"):
        rows = [f"{word} {number} 0.5".encode() for number, word in enumerate(words)]
        (tmp_path / "glove.txt").write_bytes(end.join([*rows, b""]) + b"\n")
        found, vectors = read_word2vec(tmp_path / "glove.txt", None)
        assert (found, vectors.tolist()) == (words, [[number, 0.5] for number in range(5)])
    (tmp_path / "glove.txt").write_bytes(b"the 1 2\n1 2 3 4\n")
    with pytest.raises(ValueError, match="line 2: 3 numbers follow the word, where 2 are needed"):
        read_word2vec(tmp_path / "glove.txt", None)


def test_text_read_as_binary_and_packed_files_are_named(tmp_path: Path) -> None:
    for content, message in (
        (b"cat 1 2\ndog 3 4\n", r"is text, as GloVe's files: read it with binary=False"),
        (bz2.compress(b"1 2\ncat 1 2\n"), "packed with bzip2: unpack it"),
        (lzma.compress(b"1 2\ncat 1 2\n"), "packed with xz: unpack it"),
    ):
        (tmp_path / "vectors.bin").write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_word2vec(tmp_path / "vectors.bin")
