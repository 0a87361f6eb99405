# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture convert`: ARPA files and folders."""

import json

import pytest

from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.files.kenlm_format import is_kenlm_file
from tests.models.ngram.arpa_ngram import SMALL, assert_same_tables
from tests.models.ngram.kenlm_ngram import grams_of, probing_file, trie_file


def test_convert_there_and_back(run, folder, tmp_path):
    status, _, err = run("convert", folder, tmp_path / "model.arpa.gz")
    assert (status, err) == (0, "")
    assert run("convert", tmp_path / "model.arpa.gz", tmp_path / "again")[0] == 0
    (text,) = (run("score", source, "--json", stdin="the zebra ran\n")[1] for source in [folder])
    for source in (tmp_path / "again", tmp_path / "model.arpa.gz"):
        other = run("score", source, "--json", stdin="the zebra ran\n")[1]
        assert json.loads(other.splitlines()[0])["log_prob"] == pytest.approx(
            json.loads(text.splitlines()[0])["log_prob"], rel=1e-5
        )
    assert "is there already" in run("convert", folder, tmp_path / "model.arpa.gz")[2]
    assert "must be an ARPA file" in run("convert", folder, tmp_path / "other")[2]
    assert "name a file .arpa for this model" in run("convert", folder, tmp_path / "model.vec")[2]  # no ONNX file


def test_convert_to_a_finite_state_machine(run, folder, network, tmp_path):
    machine, symbols = tmp_path / "model.fst.txt", tmp_path / "model.syms"
    status, out, err = run("convert", folder, machine)
    assert (status, err) == (0, "")
    lines = [line.split("\t") for line in machine.read_text().splitlines()]
    states, arcs = {line[0] for line in lines}, sum(len(line) == 4 for line in lines)
    assert out == f"{machine}: {len(states)} states, {arcs} arcs; symbols in {symbols}\n"
    assert (lines[0][0], lines[0][2]) == ("0", "<epsilon>")
    assert run("convert", folder, tmp_path / "lm.arpa")[0] == 0
    assert run("convert", tmp_path / "lm.arpa", tmp_path / "again.fst.txt")[0] == 0
    others = [line.split("\t") for line in (tmp_path / "again.fst.txt").read_text().splitlines()]
    assert sorted(line[2:] for line in others) == sorted(line[2:] for line in lines)  # states are numbered anew
    for source, target, message in (
        (folder, machine, "is there already"),
        (folder, tmp_path / "again.fst.txt", "again.fst.txt is there already"),
        (network, tmp_path / "x.fst.txt", "only n-grams are finite-state machines"),
        (tmp_path / "none.arpa", tmp_path / "x.fst.txt", "there is no ARPA file"),
    ):
        assert message in run("convert", source, target)[2]
    machine.unlink()
    assert "model.syms is there already" in run("convert", folder, machine)[2]


@pytest.mark.slow
def test_kenlms_files_are_read_whatever_their_names(run, tmp_path):
    """Told from word2vec's by their first bytes; tries are written as ARPA files, hash tables are not."""
    for name, text in (("trie.bin", trie_file(grams_of())), ("probing.bin", probing_file(grams_of()))):
        (tmp_path / name).write_bytes(text)
        status, out, err = run("convert", tmp_path / name, tmp_path / name.removesuffix(".bin"))
        assert (status, err) == (0, "")
        assert out.endswith(": 7 1-grams, 8 2-grams, 5 3-grams\n")
        own, saved = (
            run("score", source, "--json", stdin="the cat sat\n")[1]
            for source in (tmp_path / name, tmp_path / name.removesuffix(".bin"))
        )
        assert own == saved
        ranked = run("rank", tmp_path / name, "--json", stdin="cat the sat\nthe cat sat\n")[1]
        assert json.loads(ranked)["ranking"][0]["sequence"] == "the cat sat"
        assert run("generate", tmp_path / name, "--prompt", "the", "--max-new-tokens", 2)[0] == 0
    assert run("convert", tmp_path / "trie.bin", tmp_path / "lm.arpa")[0] == 0
    assert run("convert", tmp_path / "trie.bin", tmp_path / "lm.fst.txt")[0] == 0
    assert run("score", tmp_path / "lm.arpa", "--json", stdin="the cat sat\n")[1] == own
    for target, message in (
        ("none.arpa", "hashes of its n-grams"),
        ("none.fst.txt", "hashes of its n-grams"),
        ("trie", "is there already"),
        ("vectors.vec", "one of KenLM's binary files"),
    ):
        assert message in run("convert", tmp_path / "probing.bin", tmp_path / target)[2]
    assert not (tmp_path / "none.arpa").exists()
    (tmp_path / "vectors.bin").write_bytes(b"2 1\nthe \0\0\0\0cat \0\0\200\77")
    assert run("convert", tmp_path / "vectors.bin", tmp_path / "vectors")[1].endswith("words of width 1\n")
    assert (
        "is a file of n-grams, whose words are not segmented"
        in run("see", "segmentation", tmp_path / "trie.bin", "the cat")[2]
    )


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize("name", ["m.lm", "m.txt", "m"])
def test_a_target_is_what_its_suffix_says_or_refused(run, tmp_path, name):
    """An ARPA file is known by its content; no folder gets the name of a file."""
    source = tmp_path / name
    source.write_text(SMALL, encoding="utf-8")
    (tmp_path / "old.arpa").touch()
    for target, message in (
        ("out.BINARY", "would be a folder, but .BINARY is the suffix of a file"),
        ("out.mmap", ".bin or .klm (KenLM's)"),
        ("out.klm.gz", "would be a folder, but .gz is the suffix of a file"),
        ("out.json", "would be a folder, but .json is the suffix of a file"),
        ("out.gz", "would be a folder, but .gz is the suffix of a file"),
        ("out.safetensors", "would be a folder"),
        ("out.vec", "must be an ARPA file"),
        ("old.arpa", "is there already"),
    ):
        status, out, err = run("convert", source, tmp_path / target)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert message in err
        assert not (tmp_path / target).exists() or target == "old.arpa"
    for target in ("out.arpa", "OUT.LM", "out.lm.xz", "out.ARPA.GZ"):
        assert run("convert", source, tmp_path / target)[::2] == (0, "")
        assert_same_tables(read_arpa(tmp_path / target)[1], read_arpa(source)[1])
    for target in ("out", "out.v2", "out.1"):
        assert run("convert", source, tmp_path / target)[::2] == (0, "")
        assert (tmp_path / target / "config.json").is_file()
    for target in ("out.klm", "OUT.BIN"):
        assert run("convert", source, tmp_path / target)[::2] == (0, "")
        assert is_kenlm_file(tmp_path / target)
    assert "would be a folder" not in run("convert", tmp_path / "out", tmp_path / "again.lm")[2]


def test_kenlms_files_are_written_with_their_options(run, folder, tmp_path):
    assert run("convert", folder, tmp_path / "lm.bin")[::2] == (0, "")
    options = ("--kenlm-type", "trie", "--quantise-probs", 8, "--quantise_backoffs", 7, "--array-compress", 22)
    assert run("convert", folder, tmp_path / "lm.klm", *options)[::2] == (0, "")
    assert run("convert", folder, tmp_path / "large.bin", "--probing-multiplier", 3)[::2] == (0, "")
    assert (tmp_path / "large.bin").stat().st_size > (tmp_path / "lm.bin").stat().st_size
    first = (tmp_path / "lm.bin").read_bytes()
    assert run("convert", folder, tmp_path / "lm.arpa")[0] == 0
    assert run("convert", tmp_path / "lm.arpa", tmp_path / "again.bin")[::2] == (0, "")
    for target, text in (("lm.bin", first), ("again.bin", None)):
        score = json.loads(run("score", tmp_path / target, "--json", stdin="the zebra ran\n")[1].splitlines()[0])
        own = json.loads(run("score", folder, "--json", stdin="the zebra ran\n")[1].splitlines()[0])
        assert score["log_prob"] == pytest.approx(own["log_prob"], rel=1e-5)
        assert text is None or (tmp_path / target).read_bytes() == text
    for source, target, given, message in (
        (folder, "lm.bin", (), "is there already"),
        (folder, "x.arpa", ("--kenlm-type", "trie"), "--kenlm-type is for KenLM's binary files"),
        (folder, "x", ("--array-compress", 3), "--array-compress is for KenLM's binary files"),
        (folder, "x.bin", ("--quantise-probs", 8), "--quantise-probs is for tries"),
        (folder, "x.bin", ("--probing-multiplier", 1), "--probing-multiplier is 1.0; it must be above 1"),
        (tmp_path / "lm.bin", "x.klm", (), "hashes of its n-grams"),
        (tmp_path / "none.arpa", "x.klm", (), "there is no ARPA file"),
    ):
        status, out, err = run("convert", source, tmp_path / target, *given)
        assert (status, out) == (1, "")
        assert message in err
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("x")) == []


def test_word_vectors_named_bin_stay_word2vecs(run, tmp_path):
    (tmp_path / "vectors.bin").write_bytes(b"2 1\nthe \0\0\0\0cat \0\0\200\77")
    assert run("convert", tmp_path / "vectors.bin", tmp_path / "vectors")[0] == 0
    assert run("convert", tmp_path / "vectors", tmp_path / "again.bin")[1].endswith("words of width 1\n")
    assert not is_kenlm_file(tmp_path / "again.bin")
    assert "only n-grams are written" in run("convert", tmp_path / "vectors", tmp_path / "again.klm")[2]
    assert "for KenLM's" in run("convert", tmp_path / "vectors", tmp_path / "x.bin", "--kenlm-type", "trie")[2]


def test_convert_for_a_decoder(run, folder, tmp_path):
    status, out, err = run("convert", folder, tmp_path / "lm.arpa", "--for", "pocketsphinx")
    assert (status, err) == (0, "")
    assert out.endswith("lm.arpa: 9 1-grams, 16 2-grams, 16 3-grams\n")
    assert "\t<UNK>\t" in (tmp_path / "lm.arpa").read_text("utf-8")
    assert (
        run("convert", tmp_path / "lm.arpa", tmp_path / "k.arpa", "--for", "kaldi", "--unknown-word", "<oov>")[0] == 0
    )
    assert "\t<oov>\t" in (tmp_path / "k.arpa").read_text("utf-8")
    for target, options, message in [
        ("new", ("--for", "kaldi"), "--for is for ARPA files"),
        ("new.fst.txt", ("--unknown-word", ""), "--unknown-word is for ARPA files"),
        ("x.arpa", ("--unknown-word", "cat"), "cannot be spelled 'cat'"),
        ("x.arpa", ("--for", "pocketsphinx", "--unknown-word", "<oov>"), "--unknown-word is '<oov>'"),
        ("x.arpa.gz", ("--for", "pyctcdecode"), "ends in .arpa"),
    ]:
        status, _, err = run("convert", folder, tmp_path / target, *options)
        assert (status, message in err) == (1, True), err
    (tmp_path / "sphinx.bin").write_bytes(b"Trie Language Model\x03")
    assert "pocketsphinx's binary format" in run("convert", tmp_path / "sphinx.bin", tmp_path / "new")[2]
