# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Whole corpora: the same ids as the tokenizer gives, whatever the path; and files of texts."""

import bz2
import gzip
import json
import lzma
import os

import pytest
from tokenizers.normalizers import Lowercase
from transformers import TokenizersBackend

from hf_lecture_models.tokenization import corpus
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.memory import memory_taken

WORD = WordTokenizer.train(["a b ab a\x1cb <unk> é 👩 u n k"])
GENERIC = TokenizersBackend(tokenizer_object=WORD.backend_tokenizer, unk_token="<unk>", pad_token="<pad>")


def test_chunks_make_no_difference(monkeypatch):
    texts = ["a b", "", "é", "zebra a"] * 5
    whole = encode_corpus(WORD, texts)
    monkeypatch.setattr("hf_lecture_models.tokenization.corpus.CHUNK_CHARACTERS", 8)
    for tokenizer in (WORD, GENERIC):
        pieces = encode_corpus(tokenizer, iter(texts))
        assert pieces.ids.tolist() == whole.ids.tolist()
        assert pieces.lengths.tolist() == whole.lengths.tolist()


def test_a_changed_tokenizer_is_asked_itself():
    changed = WordTokenizer.train(["a b"])
    changed.backend_tokenizer.normalizer = Lowercase()
    assert encode_corpus(changed, ["A B"]).ids.tolist() == [1, 2]
    added = WordTokenizer.train(["a b"])
    added.add_tokens(["a b"])
    assert encode_corpus(added, ["a b"]).ids.tolist() == [6]


def test_rows_of_characters_are_refused():
    with pytest.raises(ValueError, match="ElmoTokenizer gives each word a row of character ids"):
        encode_corpus(ElmoTokenizer(), ["a"])


def test_wikitext_has_the_tokens_that_kenlm_counts(shared_data):
    expected = json.loads((shared_data.parent / "reference" / "kenlm.json").read_text())["tokens"]
    tokenizer = WordTokenizer.train(read_texts(shared_data / "wikitext-2" / "train.txt"))
    assert len(tokenizer) == 33_280
    for split, count in expected.items():
        corpus = encode_corpus(tokenizer, read_texts(shared_data / "wikitext-2" / f"{split}.txt"))
        assert len(corpus.ids) + len(corpus.lengths) == count


# Files


@pytest.mark.parametrize("name", ["texts.txt", "texts.txt.gz"])
def test_lines_are_texts(tmp_path, name):
    content = " a \u2028b\r\n\nc\rd\x85\x0b\n\x00é\n\r\nlast".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert list(read_texts(path)) == [" a \u2028b", "", "c\rd\x85\x0b", "\x00é", "", "last"]
    assert list(read_texts(str(path))) == list(read_texts(path))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["texts.txt.gz", "TEXTS.BZ2", "texts"])
def test_packed_texts_are_known_by_their_first_bytes(tmp_path, pack, name):
    path = tmp_path / name
    path.write_bytes(pack("\ufeffthe cat\r\n\na dog".encode()))
    assert list(read_texts(path)) == ["the cat", "", "a dog"]
    path.write_bytes(pack(b"a cat\n" * 9)[:-9])
    with pytest.raises(OSError, match=rf"{name}, after line \d+: damaged (gzip|bzip2|xz) file"):
        list(read_texts(path))


@pytest.mark.parametrize("name", ["texts.txt", "texts.txt.gz"])
@pytest.mark.parametrize("ends", [False, True])
def test_a_byte_order_mark_before_a_file_is_no_text(tmp_path, name, ends):
    """Nor are two of them; elsewhere U+FEFF is the character "zero width no-break space" of the text."""
    path = tmp_path / name

    def lines_of(text):
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return list(read_texts(path, keep_ends=ends))

    plain = "the cat\r\n\ufeffsat\ufeff\n"
    assert lines_of(f"\ufeff{plain}") == lines_of(f"\ufeff\ufeff{plain}") == lines_of(plain)
    assert [line.rstrip() for line in lines_of(plain)] == ["the cat", "\ufeffsat\ufeff"]
    assert lines_of("\ufeff") == lines_of("") == []
    assert lines_of("\ufeff\n") == lines_of("\n")


def test_bad_files_are_named(tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"fine\n\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"latin\.txt, line 3: not UTF-8"):
        list(read_texts(latin))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(os.urandom(5000))[:2000])
    with pytest.raises((OSError, ValueError), match=r"cut\.gz"):
        list(read_texts(cut))
    cut.write_bytes(b"no gzip")
    with pytest.raises(OSError, match=r"cut\.gz, after line 0: damaged gzip file"):
        list(read_texts(cut))
    with pytest.raises(FileNotFoundError):
        list(read_texts(tmp_path / "absent"))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch, packed, end):
    """Of 64 MB here, in a file of 64 kB; 3 GB go into one of 3 MB."""
    assert corpus.MAX_LINE_BYTES > 100_000_000, "text8 is one line of 100 million letters"
    monkeypatch.setattr(corpus, "MAX_LINE_BYTES", 1 << 20)
    path = tmp_path / ("long.txt.gz" if packed else "long.txt")
    with gzip.open(path, "wb", 1) if packed else open(path, "wb") as file:
        file.write(b"fine\n" + b"x" * (1 << 20 - 1) + b"\n")
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(end)
    refused = pytest.raises(ValueError, match=r"long\.txt.*, line 3: longer than 1048576 bytes; give each text a line")
    with memory_taken() as memory, refused:
        list(read_texts(path))
    assert memory.python < 12 << 20
