# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Writing KenLM's binary files: byte for byte those of `build_binary`; what KenLM would refuse is refused."""

import hashlib
import math

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.files.kenlm_probing_writer import _rows
from hf_lecture_models.models.ngram.files.kenlm_trie_writer import _means, _nearest, _pack
from tests.models.ngram.arpa_ngram import SENTENCES, SMALL, assert_same_tables, kenlm_model, log10_of
from tests.models.ngram.kenlm_ngram import grams_of, ngrams, probing_file, trie_file

# Without `<unk>`; "cat sat down", "sat down", "on the" and "the </s>" are missing ends; weights of 0, above 1, p = 0.
PRUNED = """\
\\data\\
ngram 1=8
ngram 2=9
ngram 3=5
ngram 4=2

\\1-grams:
-99	<s>	-0.4771213
-1.1	</s>
-0.7	the	-0.2
-1.2	cat	0.05
-1.25	sat	-0.3
-1.5	down
-1.75	on	0
-99	Žižek	-99

\\2-grams:
-0.2	<s> the	-0.15
-0.9	<s> on	0
-0.6	the cat	0
-0.65	cat sat	-0.31
-1.5	the the	-0.01
-0.7	down on	-0.02
-2	the Žižek
-0.5	sat </s>
-1	cat </s>

\\3-grams:
-0.3	<s> the cat	0
-0.25	the cat sat	0.1
-0.4	cat sat </s>
-0.45	<s> on the
-1.1	down on the

\\4-grams:
-0.1	<s> the cat sat
-0.2	the cat sat down

\\end\\
"""
# Of the added "c b", a context of the added "c b d", build_binary loses the flag in a trie: it stands behind all
# 2-grams of the file, as b has the largest hash of the words.
LAST = """\\data\\
ngram 1=6
ngram 2=6
ngram 3=4
ngram 4=1

\\1-grams:
-99	<s>	-0.5
-1.25	</s>
-0.5	a	-0.25
-0.75	b	-0.5
-1	c	-0.125
-1.5	d

\\2-grams:
-0.25	<s> a	-0.5
-0.5	a c	-0.25
-0.5	a a
-1	a d
-1	d a
-1	d d

\\3-grams:
-0.125	<s> a c
-0.25	a c b	-0.5
-1	<s> a a
-0.5	a d a

\\4-grams:
-0.0625	a c b d

\\end\\
"""
TRIE = {"kenlm_type": "trie"}
LAYOUTS = {
    "probing": {},
    "-p 2.5 probing": {"probing_multiplier": 2.5},
    "trie": TRIE,
    "-q 3 -b 2 trie": {**TRIE, "quantise_probs": 3, "quantise_backoffs": 2},
    "-a 22 trie": {**TRIE, "array_compress": 22},
    "-q 8 -a 255 trie": {**TRIE, "quantise_probs": 8, "array_compress": 255},
}
# sha256 of the file that `build_binary ARGUMENTS lm.arpa lm.bin` (KenLM, commit 4cb443e) wrote from the lm.arpa that
# `save_arpa` writes of the model read from the text; the arguments are the keys.
DIGESTS = {
    "small": {
        "probing": "4c713535be5eb583c7faa8eeec3a5e08fc847e57425fc629a8b6808640f2b4f2",
        "-p 2.5 probing": "7ae4d637849ad3904fea63c78baa081e164400746808978b4f5612da704d36c8",
        "trie": "3f1822aaca4d1f2d32ee88fbdf43a8775459288544cc5f6be92a76ee116a97d0",
        "-q 3 -b 2 trie": "d6a606e6f771120a3c5cacc53f8abe42e12abdcf52b5c2452d0af2d407f53ad4",
        "-a 22 trie": "d4cc12e458abe97ef32a73d5dd8bdac754e2397502ba2d389ed75b06faa33e84",
        "-q 8 -a 255 trie": "3f68e05394061af05dd29204c8c6fcc7a30b5c46111b34723d28cf559337d91f",
    },
    "pruned": {
        "probing": "dbf6f47c397d16c7b059277f042b53888e36d99452c52abaf5eb86aee527ca9d",
        "-p 2.5 probing": "e0fd735fca977d7b878698c0d426d8ce27eda786b704c44dadc0f4672c5f661b",
        "trie": "998974dc80dce1694431ca4da43fc8163a7d922536438a5ab1242350ea3f40c1",
        "-q 3 -b 2 trie": "3df98ad3cda55a4ff10b7f02371535358d2642f380c2eabdbdc0488c81b4a1fc",
        "-a 22 trie": "398f625f5f62e9a78e47725f26df044866475c94acdd360e8212079b93d15deb",
        "-q 8 -a 255 trie": "b7f287aec26cb2cd24ae10dba8e8c7bfa38dcb33071d1d0945c417a7c3e2159e",
    },
    "last": {
        "probing": "0ea3efbe6f8c1d65f72d91c9090d39aa492d368c355aca37e8e17c8700903f1f",
        "-p 2.5 probing": "46ee2e804a55a300662a61a337017665545e1613c53048ba5bcfe68f7b98d9bf",
        "trie": "35236d21112ae518ef0059af867320dac683d68af20daffbd4d86577390d55d4",
        "-q 3 -b 2 trie": "03c6f31896581d146cbda3558e0cd8715f81c1251a4fd469be034fb487fef671",
        "-a 22 trie": "c5b429ccb24352badfea948e32a25c6cb273a4848d6f37a4f284053d4a8e5792",
        "-q 8 -a 255 trie": "7788f65a8de1de748bd4199155f160309582cd5d6d0cc8e348c2e302f2d10f46",
    },
    "many": {
        "probing": "ec64c21ef3945f3261991c6d01a30df4af72e3f9979efcff028fe3a228ce3771",
        "-p 2.5 probing": "2d755d4f5d14776417890f3102c5c98f68a12c173f575fe67a846b5d7cca2857",
        "trie": "8464da8782093d0dd0078d9f7ef990f17fe18e0c2bc4693b409fdd51493e5e83",
        "-q 3 -b 2 trie": "36fe9f6bdc15aa3b0d2a081cbd7cb109d0edddfa1b5f06eec33c6149bf1c8bba",
        "-a 22 trie": "8f1a60876ce14d24eec8bec3e3d919509cfb05d27a65406de335ac5b5ba7e642",
        "-q 8 -a 255 trie": "04817b8159ccce2b92e306f973a09f773832ad51a92003c71316ebca1ba7e461",
    },
}


def model_of(text, tmp_path):
    (tmp_path / "text.arpa").write_text(text, encoding="utf-8")
    return NGramForCausalLM.from_arpa(tmp_path / "text.arpa")


def many_pairs():
    """A 2-gram of so many words that buckets collide, wrap around, and levels have more than 64 records."""
    words = [f"w{i}" * (1 + i % 5) for i in range(300)]
    lines = ["\\data\\", "ngram 1=303", "ngram 2=900", "", "\\1-grams:", "-2.5\t<unk>", "-99\t<s>\t-0.25", "-1.5\t</s>"]
    lines += [f"{-2 - i / 128}\t{word}\t{-i / 1024}" for i, word in enumerate(words)]
    lines += ["", "\\2-grams:"]
    lines += [f"{-(i + k) / 256}\t{words[i]} {words[(7 * i + k) % 300]}" for i in range(300) for k in (1, 5, 30)]
    return "\n".join([*lines, "", "\\end\\", ""])


TEXTS = {"small": SMALL, "pruned": PRUNED, "last": LAST, "many": many_pairs()}


@pytest.mark.parametrize(("text", "layout"), [(text, layout) for text in TEXTS for layout in LAYOUTS])
def test_files_are_those_of_build_binary(tmp_path, text, layout):
    model, tokenizer = model_of(TEXTS[text], tmp_path)
    model.save_kenlm(tmp_path / "lm.bin", tokenizer, **LAYOUTS[layout])
    assert hashlib.sha256((tmp_path / "lm.bin").read_bytes()).hexdigest() == DIGESTS[text][layout]


def test_where_no_end_is_missing_the_slow_writer_of_the_tests_agrees(tmp_path):
    """It has no flags in signs of probabilities and back-off weights of 0, which are compared by their values."""
    model, tokenizer = model_of(SMALL, tmp_path)
    grams = {gram: (-99.0 if gram == ("<s>",) else p, backoff) for gram, (p, backoff) in grams_of().items()}
    for layout, slow in (
        ({}, probing_file(grams)),
        (TRIE, trie_file(grams)),
        (LAYOUTS["-a 22 trie"], trie_file(grams, chop=22)),
    ):
        model.save_kenlm(tmp_path / "lm.bin", tokenizer, **layout)
        fast = (tmp_path / "lm.bin").read_bytes()
        assert len(fast) == len(slow)
        (tmp_path / "slow.bin").write_bytes(slow)
        one, other = (NGramForCausalLM.from_kenlm(tmp_path / name)[0].tables() for name in ("lm.bin", "slow.bin"))
        assert_same_tables(one, other)


@pytest.mark.parametrize("layout", ["probing", "trie", "-a 22 trie"])
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_read_again_are_the_same_numbers(tmp_path, text, layout):
    model, tokenizer = model_of(TEXTS[text], tmp_path)
    model.save_kenlm(tmp_path / "lm.bin", tokenizer, **LAYOUTS[layout])
    again, its_tokenizer = NGramForCausalLM.from_kenlm(tmp_path / "lm.bin")
    for sentence in [*SENTENCES, "on the cat sat down", "the w3w3w3w3 w26w26 w0"]:
        expected = log10_of(model, tokenizer, sentence)
        assert log10_of(again, its_tokenizer, sentence) == pytest.approx(expected, abs=1e-5) or expected == -math.inf
    if layout == "probing" or text in ("pruned", "last"):
        return
    # As an ARPA file, and KenLM, have p = 0; <pad> and <s> are never predicted.
    own = {gram: tuple(max(value, -99.0) for value in values) for gram, values in ngrams(model, tokenizer).items()}
    own |= {(mark,): (-math.inf, own[(mark,)][1]) for mark in ("<s>", "<pad>")}
    assert ngrams(again, its_tokenizer) == own
    again.save_kenlm(tmp_path / "twice.bin", its_tokenizer, **LAYOUTS[layout])
    assert (tmp_path / "twice.bin").read_bytes() == (tmp_path / "lm.bin").read_bytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", TEXTS)
def test_kenlm_loads_them(tmp_path, text, layout):
    pytest.importorskip("kenlm")
    model, tokenizer = model_of(TEXTS[text], tmp_path)
    model.save_arpa(tmp_path / "lm.arpa", tokenizer)
    model.save_kenlm(tmp_path / "lm.bin", tokenizer, **LAYOUTS[layout])
    from_text, from_file = kenlm_model(tmp_path / "lm.arpa"), kenlm_model(tmp_path / "lm.bin")
    assert from_file.order == model.config.order
    for sentence in [*SENTENCES, "on the cat sat down", "the Žižek", "w3w3w3w3 w26w26 w0"]:
        expected, found = ([*lm.full_scores(sentence)] for lm in (from_text, from_file))
        if "-q" not in layout:
            assert found == expected
        assert [row[1:] for row in found] == [row[1:] for row in expected]


@pytest.mark.parametrize(
    ("order", "message"), [(1, "KenLM has no models of order 1"), (7, "KenLM reads orders up to 6")]
)
def test_other_orders_are_refused(tmp_path, order, message):
    tokenizer = WordTokenizer.train(["a b c d e f g h"])
    model = NGramForCausalLM.fit(["a b c d e f g h"], tokenizer, order=order, smoothing="add_alpha", progress=False)
    with pytest.raises(ValueError, match=message):
        model.save_kenlm(tmp_path / "lm.bin", tokenizer)
    assert not (tmp_path / "lm.bin").exists()


def test_missing_ends_that_a_hash_table_cannot_hold_are_refused(tmp_path):
    """As by KenLM: of 2 2-grams it would make 4, but 3 buckets hold 2 of them."""
    lines = ["ngram 1=6", "ngram 2=2", "ngram 3=2", "", "\\1-grams:"]
    lines += [f"-1\t{word}\t-0.5" for word in ("<s>", "</s>", "a", "b", "c", "d")]
    lines += ["", "\\2-grams:", "-1\t<s> a\t-0.25", "-1\ta b", "", "\\3-grams:", "-1\t<s> a c", "-1\ta b d"]
    model, tokenizer = model_of("\n".join(["\\data\\", *lines, "", "\\end\\", ""]), tmp_path)
    with pytest.raises(ValueError, match="has 2 2-grams and lacks 2 others.*3 places.*`probing_multiplier` of 2.5 or"):
        model.save_kenlm(tmp_path / "lm.bin", tokenizer)
    assert not (tmp_path / "lm.bin").exists()
    model.save_kenlm(tmp_path / "lm.bin", tokenizer, probing_multiplier=2.5)
    model.save_kenlm(tmp_path / "lm.klm", tokenizer, kenlm_type="trie")
    again, its_tokenizer = NGramForCausalLM.from_kenlm(tmp_path / "lm.klm")
    assert again.config.table_sizes[1:] == [4, 2]
    for sentence in ("a c", "a b d", "b d", "c"):
        assert log10_of(again, its_tokenizer, sentence) == pytest.approx(log10_of(model, tokenizer, sentence), abs=1e-6)


def test_what_kenlm_cannot_hold_is_refused(tmp_path):
    model, tokenizer = model_of(PRUNED.replace("\t-0.31", "\t2"), tmp_path)
    with pytest.raises(ValueError, match="lacks 3-grams with which longer ones end.*a probability over 1"):
        model.save_kenlm(tmp_path / "lm.klm", tokenizer, kenlm_type="trie")
    texts = ["the cat sat", "the dog sat"]
    tokenizer = WordTokenizer.train(texts)
    for options, message in (
        ({"smoothing": "stupid_backoff"}, "stupid back-off has scores"),
        ({"smoothing": "add_alpha", "classes": 3}, "of classes of words"),
    ):
        model = NGramForCausalLM.fit(texts, tokenizer, order=2, progress=False, **options)
        with pytest.raises(ValueError, match=message):
            model.save_kenlm(tmp_path / "lm.bin", tokenizer)
    model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    mixture = NGramForCausalLM.interpolate([model, model], tokenizer, texts, progress=False)
    with pytest.raises(ValueError, match="interpolates 2 models"):
        mixture.save_kenlm(tmp_path / "lm.bin", tokenizer)
    model.save_kenlm(tmp_path / "lm.bin", tokenizer)
    hashed, its_tokenizer = NGramForCausalLM.from_kenlm(tmp_path / "lm.bin")
    with pytest.raises(ValueError, match="hashes of its n-grams"):
        hashed.save_kenlm(tmp_path / "again.bin", its_tokenizer)
    assert {path.name for path in tmp_path.iterdir()} == {"text.arpa", "lm.bin"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kenlm_type": "hash"}, "`kenlm_type` is 'hash'"),
        ({"quantise_probs": 8}, "`quantise_probs` is for tries"),
        ({"array_compress": 8}, "`array_compress` is for tries"),
        ({**TRIE, "probing_multiplier": 2}, "`probing_multiplier` is for hash tables"),
        ({"probing_multiplier": 1.0}, "must be above 1"),
        ({"probing_multiplier": float("nan")}, "must be above 1"),
        ({"probing_multiplier": 1e39}, "must be above 1"),
        ({**TRIE, "quantise_backoffs": 8}, "needs `quantise_probs`"),
        ({**TRIE, "quantise_probs": 1}, "must be from 2 to 25 bits"),
        ({**TRIE, "quantise_probs": 8, "quantise_backoffs": 26}, "`quantise_backoffs` is 26"),
        ({**TRIE, "array_compress": 256}, "from 0 to 255"),
    ],
)
def test_other_options_are_refused(tmp_path, options, message):
    model, tokenizer = model_of(SMALL, tmp_path)
    with pytest.raises(ValueError, match=message):
        model.save_kenlm(tmp_path / "lm.bin", tokenizer, **options)


@pytest.mark.parametrize(("number", "size"), [(0, 1), (5, 7), (200, 211), (2000, 2001)])
def test_buckets_are_those_of_insertion_one_by_one(number, size):
    keys = np.random.default_rng(number).integers(1, 3 * size, number).astype(np.uint64)
    expected = [-1] * size
    for row, key in enumerate(keys.tolist()):
        place = key % size
        while expected[place] >= 0:
            place = (place + 1) % size
        expected[place] = row
    assert _rows(keys, size).tolist() == expected


def test_records_are_packed_bit_by_bit():
    rng = np.random.default_rng(0)
    fields = [(rng.integers(0, 1 << bits, 150), bits) for bits in (3, 31, 32, 0, 57)]
    packed, place = 0, 0
    for row in range(150):
        for values, bits in fields:
            packed |= int(values[row]) << place
            place += bits
    assert _pack(fields, 150).tobytes()[: place // 8] == packed.to_bytes(place // 8 + 1, "little")[: place // 8]


@pytest.mark.parametrize(("count", "bins"), [(3, 8), (100, 6), (100, 64), (0, 4)])
def test_codebooks_are_means_of_bins(count, bins):
    values = -np.random.default_rng(count).random(count).astype(np.float32)
    expected, ordered = [], sorted(values.tolist())
    for number in range(bins):
        some = ordered[count * number // bins : count * (number + 1) // bins]
        total = 0.0
        for value in some:
            total += value
        expected.append(np.float32(total / len(some)) if some else (expected[-1] if expected else -np.inf))
    book = _means(values, bins)
    assert book.tolist() == expected
    for value, number in zip(values, _nearest(book, values), strict=True):
        assert abs(book[number] - value) == np.abs(book - value).min()
