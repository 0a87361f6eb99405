# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ARPA files under any name, packed, after other text, and from pipes; what they are written as."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
import threading

import pytest

from hf_lecture_models.loading import is_ngram_file, load_model
from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.arpa_writer import write_arpa
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.models.ngram.arpa_ngram import SMALL, assert_same_tables
from tests.models.ngram.kenlm_ngram import grams_of, trie_file

TEXT = SMALL.encode()
# As CMUCLMTK's idngram2lm begins its files, with the format's own words; and the line of pocketsphinx.
CMU = rb"""#############################################################################
## Copyright (c) 1996, Carnegie Mellon University, Cambridge University,
=============================================================================
This is a 3-gram language model, based on a vocabulary of 7 words,
  which begins "<s>", "</s>", "cat"...
1-gram frequency of frequency : 4
p(wd3|wd1,wd2)= if(trigram exists)           p_3(wd1,wd2,wd3)

Beginning of data mark: \data\
ngram 1=nr            # number of 1-grams

\1-grams:
p_1     wd_1 bo_wt_1

end of data mark: \end\

"""


@pytest.mark.parametrize("name", ["x.lm", "x.LM", "x.ARPA", "x.Arpa.GZ", "x", "x.txt", "x.bin", "x.json", "x.arpa.1"])
def test_the_name_does_not_matter(arpa, tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(TEXT) if name.endswith("GZ") else TEXT)
    model, tokenizer = load_model(tmp_path / name)
    assert_same_tables(model.tables(), read_arpa(arpa)[1])
    assert tokenizer.tokenize("the cat") == ["the", "cat"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_packed_files(arpa, tmp_path, pack):
    for name in ("lm.arpa", "lm.lm.gz", "lm"):
        (tmp_path / name).write_bytes(pack(TEXT))
        assert_same_tables(load_model(tmp_path / name)[0].tables(), read_arpa(arpa)[1])
    whole = pack(TEXT)
    for damaged in (whole[: len(whole) // 2], whole[:30] + bytes([whole[30] ^ 0x55]) + whole[31:]):
        (tmp_path / "lm.arpa").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"lm\.arpa, line \d+: the \w+ data that follow are cut off or damaged"):
            load_model(tmp_path / "lm.arpa")


def test_zstd_without_its_packages(arpa, tmp_path, monkeypatch):
    for module in ("compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "lm.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(40))
    with pytest.raises(ValueError, match=r"lm\.zst: zstd needs a package .*: install zstandard, or unpack"):
        load_model(tmp_path / "lm.zst")
    words, tables = read_arpa(arpa)
    with pytest.raises(ValueError, match="zstd needs a package"):
        write_arpa(tables, words, tmp_path / "again.arpa.zst")
    assert not (tmp_path / "again.arpa.zst").exists()


def test_other_formats_are_refused_by_name(tmp_path):
    for name, content, message in (
        ("i.lm", b"iARPA\n\n" + TEXT, r"IRSTLM's iARPA format .* compile-lm --text=yes"),
        ("k.gz", gzip.compress(trie_file(grams_of())), r"k\.gz: this is KenLM's binary format, .*; unpack it first"),
        ("x.lm", b"the cat\n", r"x\.lm, line 1: the file ends before a line \\data\\, where one was expected"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            load_model(tmp_path / name)
    for name in ("notes.txt", "notes.gz"):
        (tmp_path / name).write_bytes(b"see \\data\\ of the file\n" if name == "notes.txt" else b"\x1f\x8b" + bytes(9))
        assert not is_ngram_file(tmp_path / name)
        with pytest.raises(OSError, match="is a file: name a model's folder"):
            load_model(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe(arpa, tmp_path, packed):
    """As `<(command)` and `/dev/stdin` are: read once, from the first byte to the last."""
    os.mkfifo(tmp_path / "pipe")

    def write(content):
        with open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(content)

    def loaded(content):
        writer = threading.Thread(target=write, args=[content], daemon=True)
        writer.start()
        try:
            return load_model(tmp_path / "pipe")
        finally:
            writer.join()

    content = CMU + TEXT
    assert_same_tables(loaded(gzip.compress(content) if packed else content)[0].tables(), read_arpa(arpa)[1])
    with pytest.raises(ValueError, match="KenLM's binary format, .*; copy the pipe to a file"):
        loaded(gzip.compress(trie_file(grams_of())) if packed else trie_file(grams_of()))


@pytest.mark.parametrize(
    ("suffix", "unpack"), [(".gz", gzip.decompress), (".BZ2", bz2.decompress), (".xz", lzma.decompress)]
)
def test_written_as_the_name_says(arpa, tmp_path, suffix, unpack):
    model, tokenizer = NGramForCausalLM.from_arpa(arpa)
    model.save_arpa(tmp_path / "plain.arpa", tokenizer)
    model.save_arpa(tmp_path / f"packed.arpa{suffix}", tokenizer)
    assert unpack((tmp_path / f"packed.arpa{suffix}").read_bytes()) == (tmp_path / "plain.arpa").read_bytes()
