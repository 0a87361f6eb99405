# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""KenLM's binary files: what comes back, beside the ARPA file and KenLM; what is refused, and mutated files."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hf_lecture_models.loading import check_location, load_model
from hf_lecture_models.models.ngram.files import kenlm_format, kenlm_hashes, kenlm_tries
from hf_lecture_models.models.ngram.files.kenlm_format import is_kenlm_file
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.memory import memory_taken
from tests.models.ngram.arpa_ngram import SENTENCES, assert_same_tables, kenlm_model
from tests.models.ngram.kenlm_ngram import (
    all_files,
    arpa_of,
    by_order,
    grams_of,
    header,
    ngrams,
    probing_file,
    random_grams,
    trie_file,
)

GRAMS = random_grams()
FILES = all_files(GRAMS)
SMALL_FILES = all_files()
LINES = ["", "w0 w1w1 w2w2w2", "w3 other w3 w4w4", "w9 " * 9, "w6 w7w7 w8w8w8 w9 w10w10 w11w11w11 w0"]
NAMES = list(FILES)


def write(folder: Path, text: bytes, name: str = "lm.bin") -> Path:
    path = folder / name
    path.write_bytes(text)
    return path


def scores(model, tokenizer, lines):
    """log10 p of the words of each line and of `</s>`."""
    found = []
    for line in lines:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(line, add_special_tokens=False).input_ids]])
        ids = torch.cat([ids, torch.tensor([[tokenizer.eos_token_id]])], 1)
        found += (model.score(ids)[0, 1:].double() / math.log(10)).tolist()
    return found


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "lm.arpa").write_text(arpa_of(GRAMS))
    return NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_comes_back(name, block, expected, tmp_path, monkeypatch):
    for module in (kenlm_format, kenlm_tries):
        monkeypatch.setattr(module, "BLOCK", block)
    model, tokenizer = NGramForCausalLM.from_kenlm(write(tmp_path, FILES[name]))
    assert model.config.table_sizes == expected[0].config.table_sizes
    assert model.config.hashed == name.startswith("probing")
    assert (tokenizer.unk_token_id, tokenizer("other", add_special_tokens=False).input_ids) == (0, [0])
    if "quantised" not in name:
        assert scores(model, tokenizer, LINES) == pytest.approx(scores(*expected, LINES), abs=1e-6)
    if model.config.hashed:
        return
    found, others = ngrams(model, tokenizer), ngrams(*expected)
    if "quantised" not in name:
        assert found == others
        assert not any(math.copysign(1, weight) < 0 for _, weight in found.values() if weight == 0)
        return
    assert found.keys() == others.keys()
    for n, order in enumerate(by_order(GRAMS)[1:], 2):
        step = 4 / (2 ** (4 if name == "quantised" else 3) - 1)  # between values of a codebook, about
        assert max(abs(found[gram][0] - others[gram][0]) for gram in order) < 2 * step
        assert len({found[gram][0] for gram in order}) <= 16
        assert n == 3 or {found[gram][1] for gram in order if not others[gram][1]} == {0}


def test_bigrams(tmp_path):
    """They have no level between the words and the longest n-grams, and so no array."""
    grams = {gram: (p, backoff * (len(gram) < 2)) for gram, (p, backoff) in GRAMS.items() if len(gram) < 3}
    (tmp_path / "lm.arpa").write_text(arpa_of(grams))
    expected = scores(*NGramForCausalLM.from_arpa(tmp_path / "lm.arpa"), LINES)
    for name, text in all_files(grams).items():
        found = scores(*NGramForCausalLM.from_kenlm(write(tmp_path, text)), LINES)
        assert found == pytest.approx(expected, abs=1e-6 if "quantised" not in name else 1)


def test_an_array_of_next_is_used():
    """The kinds differ in bytes: otherwise the reader of arrays would not be tried."""
    assert len(FILES["array"]) != len(FILES["trie"]) + 8 + 8 + 7
    assert len(FILES["array"]) != len(trie_file(GRAMS, chop=0))


@pytest.mark.parametrize("name", NAMES)
def test_zeros_of_arpa_files_stay_what_kenlm_has(name, tmp_path, arpa):
    """-99 is a logarithm; from an ARPA file it is p = 0."""
    model, tokenizer = NGramForCausalLM.from_kenlm(write(tmp_path, SMALL_FILES[name]))
    found, others = scores(model, tokenizer, SENTENCES), scores(*NGramForCausalLM.from_arpa(arpa), SENTENCES)
    assert all(math.isfinite(score) for score in found)
    if "quantised" not in name:
        assert all(
            one < -98 if other == -math.inf else abs(one - other) < 1e-5
            for one, other in zip(found, others, strict=True)
        )


def test_a_trie_is_written_as_the_arpa_file_it_was(tmp_path, expected):
    model, tokenizer = NGramForCausalLM.from_kenlm(write(tmp_path, FILES["array"]))
    model.save_arpa(tmp_path / "again.arpa", tokenizer)
    again, its_tokenizer = NGramForCausalLM.from_arpa(tmp_path / "again.arpa")
    assert ngrams(again, its_tokenizer) == ngrams(*expected)
    assert_same_tables(again.tables(), model.tables())


def test_loaded_by_its_first_bytes_whatever_its_name(tmp_path):
    for name in ("lm.bin", "lm.arpa", "lm.arpa.bin", "lm"):
        path = write(tmp_path, SMALL_FILES["trie"], name)
        assert is_kenlm_file(path)
        assert check_location(str(path))
        assert load_model(path)[0].config.table_sizes == [8, 8, 5]
        with pytest.raises(ValueError, match="holds NGramForCausalLM, which AutoModel cannot load"):
            load_model(path, AutoModel)
    assert not is_kenlm_file(write(tmp_path, b"3 2\nthe " + bytes(8), "vectors.bin"))
    assert not is_kenlm_file(tmp_path)


def at(text: bytes, place: int, *values: int) -> bytes:
    return text[:place] + bytes(values) + text[place + len(values) :]


TRIE, PROBING = SMALL_FILES["trie"], SMALL_FILES["probing"]
# The header: order 88, multiplier 92, type 96, words 100, version 104, counts from 108.
REFUSED = {
    "empty": (b"", "'' is where .* was expected; this is not KenLM's"),
    "an ARPA file": (b"\\data\\\nngram 1=3\n", "this is not KenLM's"),
    "word2vec": (b"2 1\nthe \0\0\0\0", "this is not KenLM's"),
    "gzip": (b"\x1f\x8b\x08\0", "compressed with gzip; unpack it"),
    "byte order mark": (b"\xef\xbb\xbf" + TRIE, "this is not KenLM's"),
    "CRLF": (TRIE.replace(b"5\n", b"5\r\n", 1), "only format version 5"),
    "incomplete": (b"mmap lm http://kheafield.com/code incomplete\n" + bytes(99), "build_binary stopped"),
    "version": (TRIE.replace(b"version 5", b"version 4", 1), "has 'format version 4', and only format version 5"),
    "big-endian": (
        TRIE[:56] + struct.pack(">3f3IQ", 0, 1, -0.5, 1, 2**32 - 1, 0, 1) + TRIE[88:],
        "big-endian machine",
    ),
    "test values": (at(TRIE, 60, 7), "test values of its header"),
    "cut in its header": (TRIE[:70], "ends within its header"),
    "cut in its counts": (TRIE[:110], "too few for what its header counts"),
    "cut": (TRIE[:-60], "where the words should begin|bytes, but its header counts"),
    "cut in its words": (TRIE[:-3], "words, but its vocabulary has|should begin"),
    "too long": (TRIE + b"more", "words, but its vocabulary has"),
    "rest costs": (at(TRIE, 96, 1), r"rest costs \(type 1\)"),
    "another type": (at(TRIE, 96, 6), "its type is 6, and must be one of 0, 2, 3, 4, 5"),
    "layout": (at(TRIE, 104, 2), "its trie has version 2, and only 1 is read"),
    "probing layout": (at(PROBING, 104, 2), "its probing has version 2, and only 0 is read"),
    "no words": (at(TRIE, 100, 0), "lacks the words of its vocabulary"),
    "order 1": (at(TRIE, 88, 1), "its order is 1, and must be from 2 to 64"),
    "order 255": (at(TRIE, 88, 255), "its order is 255"),
    "multiplier": (at(PROBING, 92, *struct.pack("<f", math.nan)), "hash tables are nan times"),
    "small multiplier": (at(PROBING, 92, *struct.pack("<f", 0.5)), "hash tables are 0.5 times"),
    "large multiplier": (at(PROBING, 92, *struct.pack("<f", 1e30)), "bytes, but its header counts n-grams for"),
    "no n-grams": (at(TRIE, 108, 0, 0, 0, 0, 0, 0, 0, 0), "it counts 0 words"),
    "many n-grams": (at(TRIE, 116, *[255] * 8), "too few for 18446744073709551615 n-grams"),
    "more n-grams": (at(TRIE, 116, 200), "bytes, but its header counts n-grams for"),
    "codebooks": (at(SMALL_FILES["quantised"], 136 + 8 * 8, 3), "its codebooks have version 3, and only 2"),
    "wide codebooks": (at(SMALL_FILES["quantised"], 136 + 8 * 8 + 1, 26), "its codebooks have 26 and 4 bits"),
    "array": (at(SMALL_FILES["array"], 136 + 8 * 8 + 9 * 16, 1), "its arrays have version 1, and only 0"),
    "vocabulary": (at(PROBING, 132 + 4, 1), "its vocabulary has version 1, and only 0"),
    "a word": (TRIE.replace(b"\0the\0", b"\0thy\0"), "do not have the hashes of its vocabulary"),
    "padding": (trie_file(GRAMS | {("<pad>",): (-1, 0)}), "the word <pad> has the name"),
    "no end": (
        trie_file({(w,): (-1.0, 0.0) for w in ("<unk>", "<s>", "a")} | {("<s>", "a"): (-1.0, 0.0)}),
        "lacks </s>",
    ),
    "p > 1 of a word": (at(TRIE, 136 + 8 * 8 + 16 + 3, 63), "a log-probability of a 1-gram is positive, infinite"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(text, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        NGramForCausalLM.from_kenlm(path)
    assert str(path) in str(caught.value)


def test_words_that_are_not_utf8_or_hold_blanks(tmp_path):
    grams = {(word,): (-1.0, 0.0) for word in ("<unk>", "<s>", "</s>", "a\u00a0b")} | {("<s>", "</s>"): (-1.0, 0.0)}
    with pytest.warns(UserWarning, match="1 words hold white space such as 'a\\\\xa0b'"):
        NGramForCausalLM.from_kenlm(write(tmp_path, probing_file(grams)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kenlm_format, "word_hashes", lambda words: np.zeros(0))
        patch.setattr(kenlm_format.np, "array_equal", lambda *_: True)
        text = probing_file(grams).replace("a\u00a0b".encode(), b"a\xff\xffb"[:4])
        with pytest.raises(ValueError, match="is not UTF-8; convert"):
            NGramForCausalLM.from_kenlm(write(tmp_path, text))


def test_no_folder_and_no_file(tmp_path):
    with pytest.raises(OSError, match="none.bin"):
        NGramForCausalLM.from_kenlm(tmp_path / "none.bin")
    with pytest.raises(IsADirectoryError):
        NGramForCausalLM.from_kenlm(tmp_path)


def entry(text: bytes, key: bytes, change) -> bytes:
    """Change the entry of a hash table that has this key."""
    place = text.index(key)
    return text[:place] + change(text[place : place + 16]) + text[place + 16 :]


def test_damaged_hash_tables_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(kenlm_format, "BLOCK", 1)  # the last empty bucket is in an earlier block
    text = FILES["probing"]
    _, tables = read(tmp_path, text)
    key = struct.pack("<q", int(tables.keys[0][3]))
    for change, message in (
        (lambda e: struct.pack("<Q", struct.unpack("<Q", e[:8])[0] ^ 1 << 40) + e[8:], "not in the place that its key"),
        (lambda e: bytes(8) + e[8:], "not in the place that its key says|header counts"),
        (lambda e: e[:8] + struct.pack("<f", math.nan) + e[12:], "a log-probability of a 2-gram is"),
        (lambda e: e[:12] + struct.pack("<f", math.inf), "a back-off weight of a 2-gram is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            read(tmp_path, entry(text, key, change))


def read(folder, text):
    with kenlm_format.KenlmFile(write(folder, text)) as file:
        return (kenlm_hashes.read_hashes if file.type == 0 else kenlm_tries.read_tries)(file)


def test_headers_that_count_too_much_allocate_nothing(tmp_path):
    """Counts of millions, in files of a few kilobytes, of every kind."""
    for text in FILES.values():
        kind, version = text[96], text[104]
        counts = [len(order) for order in by_order(GRAMS)]
        for n in range(3):
            for count in (10**5, 10**7, 2**40, 2**63):
                changed = header(kind, version, [*counts[:n], count, *counts[n + 1 :]]) + text[136:]
                with (
                    memory_taken() as memory,
                    pytest.raises(
                        ValueError, match="too few|but its header counts|counts \\d+ words|different numbers"
                    ),
                ):
                    read(tmp_path, changed)
                assert memory.python < 20 * len(text)


def mutated(rng: random.Random, text: bytes) -> bytes:
    """Cut, or with some bits, bytes or numbers changed; half of these within the header and the vocabulary."""
    if rng.random() < 0.15:
        return text[: rng.randrange(len(text))]
    changed = bytearray(text)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        place = rng.randrange(rng.choice([160, len(text)]))
        match rng.randrange(3):
            case 0:
                changed[place] ^= 1 << rng.randrange(8)
            case 1:
                changed[place] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            case 2:
                number = rng.choice([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, rng.randrange(2**64)])
                changed[place : place + 8] = number.to_bytes(8, "little")[: len(text) - place]
    return bytes(changed)


def try_mutated(folder, seeds):
    refused = 0
    for seed in seeds:
        rng = random.Random(seed)
        text = mutated(rng, rng.choice([*FILES.values(), *SMALL_FILES.values()]))
        try:
            model, tokenizer = NGramForCausalLM.from_kenlm(write(folder, text))
            found = scores(model, tokenizer, ["w0 w1w1 the cat w2w2w2 w3", "sat other w9"])
            logits = model(torch.tensor([[tokenizer.bos_token_id, 1, 2]])).logits
        except ValueError:
            refused += 1
            continue
        assert all(math.isfinite(score) and score <= 0 for score in found), seed
        assert not logits.isnan().any(), seed
        assert (logits <= 0).all(), seed
    return refused


def test_mutated_files(tmp_path):
    assert 60 < try_mutated(tmp_path, range(100)) < 100


@pytest.mark.slow
def test_many_mutated_files(tmp_path):
    assert 1200 < try_mutated(tmp_path, range(100, 2000)) < 1900


def test_weights_that_make_a_probability_exceed_one(tmp_path):
    """Up to 2 it is clipped, as quantised weights may lead there; beyond, the tables are damaged."""
    for weight, allowed in ((0.25, True), (0.5, False)):
        grams = grams_of() | {("sat",): (-0.9, weight), ("</s>",): (-0.1, 0.0), ("Senjō",): (-0.9, weight)}
        for text in (trie_file(grams), probing_file(grams)):
            model, tokenizer = NGramForCausalLM.from_kenlm(write(tmp_path, text))
            if allowed:
                assert scores(model, tokenizer, ["Senjō"])[-1] == 0
                continue
            ids = tokenizer("Senjō </s>", return_tensors="pt").input_ids
            for ask in (model.score, model, lambda ids, model=model: model(ids, labels=ids, logits_to_keep=1)):
                with pytest.raises(ValueError, match="a probability is 2.5., and more than 1"):
                    ask(ids)


@pytest.fixture
def references(shared_data):
    folder = shared_data.parent / "reference" / "kenlm_binaries"
    if not folder.is_dir():
        pytest.skip(f"no reference at {folder}")
    return folder


def test_kenlms_own_files(references):
    """What KenLM wrote, beside what it answered; tries n-gram by n-gram to the ARPA file."""
    recorded = json.loads((references / "scores.json").read_text(encoding="utf-8"))
    arpa = ngrams(*NGramForCausalLM.from_arpa(references / "tiny.arpa"))
    for path in sorted(references.glob("*.bin")):
        model, tokenizer = NGramForCausalLM.from_kenlm(path)
        kind = path.name.split(".")[1]
        own = recorded["log10"].get(kind, recorded["log10"]["probing"])
        expected = [score for line in own for score in line]
        assert scores(model, tokenizer, recorded["lines"]) == pytest.approx(expected, abs=1e-6)
        if not model.config.hashed:
            found = ngrams(model, tokenizer)
            assert found.keys() == arpa.keys()
            assert "quantised" in kind or found == arpa


@pytest.mark.parametrize("name", NAMES)
def test_kenlm_reads_the_files_of_these_tests(name, tmp_path):
    """So they are KenLM's, and its scores are ours."""
    path = write(tmp_path, FILES[name])
    theirs = kenlm_model(path)
    found = scores(*NGramForCausalLM.from_kenlm(path), LINES)
    assert found == pytest.approx([s for line in LINES for s, _, _ in theirs.full_scores(line)], abs=1e-6)
