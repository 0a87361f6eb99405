# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""ARPA files without `<unk>`, SRILM's default: known words count as for KenLM's `query` and SRILM's `ppl`.

The references are numbers by hand, and the file as KenLM builds it: there `<unk>` has log10 p = -100.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from hf_lecture_models import load_model
from hf_lecture_models.evaluation import scoring, sentence_ranking
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.sentence_ranking import SentenceRankingPipeline
from hf_lecture_models.evaluation.surprisal import score_spans
from hf_lecture_models.lab.studies.blimp import Paradigm, measure_paradigm
from hf_lecture_models.lab.studies.filtering import text_perplexities
from hf_lecture_models.lab.studies.rescoring import Hypothesis, Rescoring, best_of, tune_weight
from hf_lecture_models.lab.studies.word_surprisal import word_surprisals
from hf_lecture_models.models.ngram.files.arpa_reader import read_arpa
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from tests.models.ngram.arpa_ngram import assert_same_tables
from tests.models.ngram.kenlm_ngram import ORDER, SENTENCES, files_without_unknown

# log10 p by hand: <s> the, unknown, cat without a context, cat </s>.
SENTENCE, KNOWN = "the dog cat", [-0.30103, -0.7447275, -0.6]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return files_without_unknown(tmp_path)


def test_known_words_count_in_every_form_of_the_file(files):
    texts = [SENTENCE, "the cat sat", "dog", "sat mouse dog the cat"]
    for path in files.values():
        model, tokenizer = load_model(path)
        measures = evaluate_language_model(model, tokenizer, [SENTENCE], progress=False)
        assert (measures["tokens"], measures["unknown"]) == (4, 1)
        expected = 10 ** (-sum(KNOWN) / 3)
        assert measures["perplexity_without_unk"] == pytest.approx(expected, rel=1e-6)
        assert measures["word_perplexity_without_unk"] == pytest.approx(expected, rel=1e-6)
        assert text_perplexities(model, tokenizer, [SENTENCE], "perplexity_without_unk") == pytest.approx([expected])
        stream = evaluate_language_model(model, tokenizer, texts, stream=True, progress=False)
        alone = evaluate_language_model(model, tokenizer, texts, progress=False)
        assert stream["perplexity_without_unk"] == pytest.approx(alone["perplexity_without_unk"], rel=1e-6)
    assert evaluate_language_model(*load_model(files["lm.arpa"]), [SENTENCE], progress=False)["perplexity"] == math.inf


def test_the_file_comes_back_without_unknown_word(files, tmp_path):
    model, tokenizer = NGramForCausalLM.from_arpa(files["lm.arpa"])
    assert tokenizer.tokenize(SENTENCE) == ["the", "<unk>", "cat"]
    assert AutoTokenizer.from_pretrained(files["folder"]).unk_token == "<unk>"
    model.save_arpa(tmp_path / "again.arpa", tokenizer)
    assert "<unk>" not in (tmp_path / "again.arpa").read_text(encoding="utf-8")
    words, tables = read_arpa(tmp_path / "again.arpa")
    assert words == read_arpa(files["lm.arpa"])[0] == ["the", "cat", "Senjō", "sat", "<s>", "</s>", "<pad>"]
    assert_same_tables(tables, read_arpa(files["lm.arpa"])[1])


def test_an_unknown_word_of_classes(tmp_path):
    """`<unk>` in a class of the second file is no further 1-gram; without one, it has probability 0."""
    arpa = "\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5\t<s>\n-0.25\t</s>\n-0.75\tCLASS-00001\n\n\\end\\\n"
    (tmp_path / "lm.arpa").write_text(arpa, encoding="utf-8")
    (tmp_path / "lm.arpa.classes").write_text("CLASS-00001 1 a\n", encoding="utf-8")
    measures = evaluate_language_model(*load_model(tmp_path / "lm.arpa"), ["a b"], progress=False)
    assert (measures["unknown"], measures["perplexity"]) == (1, math.inf)
    assert measures["perplexity_without_unk"] == pytest.approx(10 ** (1.0 / 2))
    (tmp_path / "lm.arpa.classes").write_text("CLASS-00001 0.5 a\nCLASS-00001 0.5 <unk>\n", encoding="utf-8")
    measures = evaluate_language_model(*load_model(tmp_path / "lm.arpa"), ["a b"], progress=False)
    assert measures["perplexity"] == pytest.approx((10**-1.75 / 4) ** (-1 / 3))


def test_surprisal_of_known_words(files):
    for path in files.values():
        (scored,) = score_spans(*load_model(path), [SENTENCE])
        words = word_surprisals(scored)
        assert [word.unknown for word in words] == [False, True, False, False]
        bits = [-value * math.log2(10) for value in KNOWN]
        assert [words[at].bits for at in (0, 2, 3)] == pytest.approx(bits, rel=1e-6)
        # KenLM's -100, after the back-off weights of "<s> the" and "the".
        kenlms = (100 + 0.1 + 0.2218488) * math.log2(10)
        of_unknown = kenlms if path.suffix in (".trie", ".probing") else math.inf
        assert words[1].bits == pytest.approx(of_unknown, rel=1e-6)


def test_sentences_of_probability_0_are_ranked_by_their_known_words(files, monkeypatch):
    for path in files.values():
        model, tokenizer = load_model(path)
        rank = SentenceRankingPipeline(model=model, tokenizer=tokenizer, task="sentence-ranking")
        ranking = rank(SENTENCES)
        assert [entry["sequence"] for entry in ranking] == ORDER
        if path.suffix == ".arpa":
            entry = rank(["dog dog cat"])[0]
            assert (entry["log_prob"], entry["zeros"]) == (-math.inf, 2)
            assert entry["log_prob_without_zeros"] == pytest.approx(math.log(10) * (-0.7447275 - 0.6), rel=1e-6)
            assert "zeros" not in rank(["the cat"])[0]
            # As an exported folder ranks, without the package.
            monkeypatch.setattr(rank, "score_sentences", sentence_ranking.score_sentences)
            assert [entry["sequence"] for entry in rank(SENTENCES)] == ORDER
            monkeypatch.undo()


@pytest.mark.parametrize("weight", [0.5, 2.0, -1.0])
def test_lists_of_a_recogniser_are_ordered_alike_in_every_form(files, weight):
    scores = [-1.0, -2.0, -1.5, -3.0, -9.0, -1.5]
    orders = []
    for path in files.values():
        model, tokenizer = load_model(path)
        rank = SentenceRankingPipeline(model=model, tokenizer=tokenizer, task="sentence-ranking")
        orders.append([entry["index"] for entry in rank(SENTENCES, scores=scores, weight=weight, length_bonus=0.1)])
    assert orders[0] == orders[1] == orders[2] == orders[3] != sorted(orders[0])


def test_hypotheses_of_probability_0(files):
    model, tokenizer = load_model(files["lm.arpa"])
    scored = sentence_ranking.score_sentences(model, tokenizer, ["dog the", "dog cat"])
    group = [
        Hypothesis(text, score, one.log_prob, one.finite_log_prob)
        for text, score, one in zip(["dog the", "dog cat"], [0.0, -0.5], scored, strict=True)
    ]
    # ln P of the known words: the -0.602, </s> -0.903 - 0.222; cat -0.745, </s> -0.6; log10, times ln 10.
    assert best_of(group, Rescoring(0.25)).sentence == "dog the"
    assert best_of(group, Rescoring(1.0)).sentence == "dog cat"
    crossing = 0.5 / (math.log(10) * ((0.6020599 + 0.90309 + 0.2218488) - (0.7447275 + 0.6)))
    assert tune_weight([group], ["dog cat"]).weight == pytest.approx(2 * crossing, rel=1e-5)
    assert sentence_ranking.ZERO == scoring.ZERO == pytest.approx(-230.2585093)


def test_pairs_of_sentences_with_one_unknown_word(files):
    """Two of probability 0 are no tie: the known words decide, as in KenLM's form."""
    pairs = Paradigm("x", "y", "z", good=["the cat sat dog", "dog the"], bad=["sat the cat dog", "the dog dog"])
    for path in files.values():
        row = measure_paradigm(*load_model(path), pairs)
        assert (row["accuracy"], row["ties"], row["known_pairs"]) == (1.0, 0, 0)
