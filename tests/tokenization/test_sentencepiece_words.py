# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pieces of sentencepiece as the words of an n-gram: ids, unknown words, measures of the text, KenLM's scores."""

from __future__ import annotations

import io
import math
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from hf_lecture_models import BpeTokenizer, NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.studies.filtering import text_perplexities
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.sentencepiece_words import SentencePieceWords
from tests.interop.installed import need

need("sentencepiece")

TEXTS = [
    "the newer tower is lower than the lowest tower in town",
    "wide and wider words widen the widest world",
    "new news renews the newest of the oldest words",
    "a low slow flow of snow is now below the towns",
] * 5
ODD = ["", "  ", "a\tb\u00a0the", "\u6f22\u5b57 the \u6f22", "<s> </s> <unk>", "\u200b", " the tower ", "caf\u00e9"]


def train(path: Any, texts: list[str], **options: Any) -> Any:
    import sentencepiece

    model = io.BytesIO()
    options = {"vocab_size": 38, "minloglevel": 2, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **options)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def fit(processor: Any, texts: list[str], order: int = 3, **options: Any) -> tuple[NGramForCausalLM, WordTokenizer]:
    pieces = [" ".join(row) for row in processor.encode(texts, out_type=str)]
    tokenizer = WordTokenizer.train(pieces, progress=False, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few, or artificial")
        return NGramForCausalLM.fit(pieces, tokenizer, order=order, progress=False), tokenizer


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, NGramForCausalLM, SentencePieceWords]:
    path = tmp_path_factory.mktemp("pieces") / "en.sp.model"
    processor = train(path, TEXTS)
    model, tokenizer = fit(processor, TEXTS)
    return processor, model, SentencePieceWords(path, tokenizer)


def joined(processor: Any, text: str) -> str:
    return " ".join(processor.encode(text, out_type=str))


def test_ids_are_those_of_the_joined_pieces(both: Any) -> None:
    processor, _, tokenizer = both
    texts = [*TEXTS[:4], *ODD]
    words = tokenizer._words
    for text, encoded in zip(texts, encode_texts(tokenizer, texts), strict=True):
        # sentencepiece makes a space of each other kind of white space, so none is within a piece.
        assert encoded.ids.tolist() == words(joined(processor, text), add_special_tokens=False)["input_ids"]


def test_unknown_words_are_words_of_the_text(both: Any) -> None:
    tokenizer = both[2]
    encoded = encode_texts(tokenizer, ["\u6f22\u5b57 the caf\u00e9 tower", "the tower"])
    assert encoded[0].unknown_words == ("\u6f22\u5b57", "caf\u00e9")
    assert encoded[0].words == 4
    assert not encoded[1].unknown_words
    # Space before the first word belongs to it, also where its piece is unknown.
    assert encode_texts(tokenizer, [" \u6f22"])[0].unknown_words == ("\u6f22",)


def test_measures_are_of_the_text(both: Any) -> None:
    processor, model, tokenizer = both
    texts = ["the tower of snow", "newest \u6f22"]
    pieces = [joined(processor, text) for text in texts]
    measures, of_pieces = (
        evaluate_language_model(model, *of) for of in ((tokenizer, texts), (tokenizer._words, pieces))
    )
    for key in ("perplexity", "tokens", "log_prob"):
        assert measures[key] == pytest.approx(of_pieces[key])
    assert measures["words"] == sum(len(text.split()) + 1 for text in texts) != of_pieces["words"]
    assert measures["bytes"] == sum(len(text.encode()) + 1 for text in texts)
    bits = -measures["log_prob"] / math.log(2) + 8 * (len("\u6f22".encode()) + 1)
    assert measures["bits_per_byte"] == pytest.approx(bits / measures["bytes"])
    # sentencepiece removes a zero-width space, so nothing is left of this text.
    assert np.isnan(text_perplexities(model, tokenizer, ["\u200b"])).all()


def test_a_piece_with_white_space_is_split_as_kenlm_does(tmp_path: Any) -> None:
    """Without sentencepiece's own normalisation, a tab is an unknown piece, which vanishes; other spaces stay."""
    processor = train(tmp_path / "raw.model", TEXTS, normalization_rule_name="identity")
    _, tokenizer = fit(processor, TEXTS)
    pieces = SentencePieceWords(tmp_path / "raw.model", tokenizer)
    for space, lost in (("\t", 1), ("\u00a0", 0)):
        cut = processor.encode(f"the{space}tower", out_type=str)
        assert space in cut
        words = [word.decode() for word in " ".join(cut).encode().split()]
        assert len(words) == len(cut) - lost
        (encoded,) = encode_texts(pieces, [f"the{space}tower"])
        assert encoded.ids.tolist() == tokenizer.encode_words(words)[0].tolist()
        assert encoded.words == 2
    # A known piece is split, too.
    options = {"normalization_rule_name": "identity", "user_defined_symbols": ["w\tw"], "vocab_size": 40}
    processor = train(tmp_path / "tab.model", TEXTS, **options)
    assert "w\tw" in processor.encode("thew\tw", out_type=str)
    (encoded,) = encode_texts(SentencePieceWords(tmp_path / "tab.model", fit(processor, TEXTS)[1]), ["thew\tw"])
    assert len(encoded.ids) == len(processor.encode("thew\tw")) + 1
    # No word begins before the unknown piece.
    assert encode_texts(pieces, ["\u00a0the"])[0].unknown_words == ("the",)
    assert encode_texts(pieces, ["\u00a0"])[0].words == 0


def test_a_closed_vocabulary_refuses_unknown_pieces(tmp_path: Any) -> None:
    processor = train(tmp_path / "en.model", TEXTS)
    pieces = [joined(processor, text) for text in TEXTS]
    tokenizer = WordTokenizer.train(pieces, unk_token=None, progress=False)
    model = NGramForCausalLM.fit(pieces, tokenizer, order=2, smoothing="add_alpha", progress=False)
    scores = score_texts(model, SentencePieceWords(tmp_path / "en.model", tokenizer), ["the tower", "the \u6f22"])
    assert [math.isfinite(score.log_prob) for score in scores] == [True, False]
    assert scores[1].encoded.unknown_words == ("\u6f22",)


def test_what_does_not_fit_is_refused_by_name(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "en.sp.model"
    tokenizer = fit(train(path, TEXTS), TEXTS)[1]
    with pytest.raises(FileNotFoundError, match="other.model"):
        SentencePieceWords(tmp_path / "other.model", tokenizer)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        SentencePieceWords(tmp_path, tokenizer)
    whole = path.read_bytes()
    for damaged in (b"", b"junk" * 50, whole[:100], whole[:-1]):
        (tmp_path / "damaged.model").write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged.model is not a sentencepiece model, or is damaged"):
            SentencePieceWords(tmp_path / "damaged.model", tokenizer)
    with pytest.raises(ValueError, match="has none of its .* pieces that begin a word"):
        SentencePieceWords(path, WordTokenizer.from_words(["the", "tower"]))
    for other in (BpeTokenizer.train(TEXTS, vocab_size=280, progress=False), object()):
        with pytest.raises(ValueError, match=f"the model has a {type(other).__name__}"):
            SentencePieceWords(path, other)
    spelled = WordTokenizer.train(["\u2581the"], unknown_words="spelled", progress=False)
    with pytest.raises(ValueError, match="which splits texts itself"):
        SentencePieceWords(path, spelled)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ImportError, match=r"pip install 'hf-lecture-models\[pieces\]'"):
        SentencePieceWords(path, tokenizer)


def test_a_lone_surrogate_is_named(both: Any) -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        encode_texts(both[2], ["the \ud800"])


def in_kenlm(model: Any, pieces: str) -> float:
    """The perplexity by KenLM, which counts the words that it splits at ASCII white space."""
    return 10 ** (-model.score(pieces) / (len(pieces.encode().split()) + 1))


@pytest.mark.slow
def test_wikitext_2_equals_kenlm_and_sentencepiece(tmp_path: Any, shared_data: Any) -> None:
    """Text by text, from the text to its perplexity, of the same two files."""
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    texts = list(read_texts(shared_data / "wikitext-2" / "valid.txt"))
    processor = train(tmp_path / "en.sp.model", [text for text in texts if text.strip()][::4], vocab_size=2000)
    fit_model, fit_tokenizer = fit(processor, texts[::2], order=5)
    fit_model.save_arpa(tmp_path / "en.arpa", fit_tokenizer)
    model, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "en.arpa")
    others = [*texts[1::2], *ODD]
    ours = text_perplexities(model, SentencePieceWords(tmp_path / "en.sp.model", tokenizer), others)
    theirs = kenlm.Model(str(tmp_path / "en.arpa"))
    pieces = [joined(processor, text) for text in others]
    expected = np.array([in_kenlm(theirs, text) if text else math.nan for text in pieces])
    assert np.isnan(expected).sum() > 100
    np.testing.assert_allclose(ours, expected, rtol=1e-5)
