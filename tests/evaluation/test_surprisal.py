# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pseudo-log-likelihood, and the surprisal of words under models of every kind beside each other."""

import math

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    T5Config,
    T5ForConditionalGeneration,
)

from hf_lecture_models.analysis.surprisal_pictures import save_surprisal
from hf_lecture_models.evaluation import surprisal
from hf_lecture_models.evaluation.pseudo_likelihood import pseudo_log_likelihoods
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.evaluation.surprisal import (
    TokenSpan,
    TokenSpans,
    align_spans,
    kind_of,
    score_spans,
    score_text,
    word_places,
)
from hf_lecture_models.models.bert import LectureBertConfig, LectureBertForMaskedLM, LectureBertForPreTraining
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.splitting import WORD
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

TEXTS = ["the cat saw the dog", "the dog ran"]
BERT = WordPieceTokenizer.train(TEXTS, vocab_size=30, progress=False)
SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
CONFIG = {**SIZES, "vocab_size": len(BERT), "max_position_embeddings": 24}
WORDS, CHARS = (kind.train(TEXTS, progress=False) for kind in (WordTokenizer, CharTokenizer))


def bert(model_class=LectureBertForMaskedLM, config_class=LectureBertConfig):
    torch.manual_seed(0)
    return model_class(config_class(**CONFIG))


def ngram(tokenizer, order=2):
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=order, smoothing="add_alpha", progress=False)


@pytest.mark.parametrize(
    "model",
    [bert(), bert(LectureBertForPreTraining), bert(BertForMaskedLM, BertConfig), bert(BertForPreTraining, BertConfig)],
    ids=lambda model: type(model).__name__,
)
@torch.no_grad()
def test_each_token_is_masked_by_itself(model):
    """One row at a time, by the formula; the model goes on training."""
    model.train()
    text = "The [MASK] cat's dog"  # of which [MASK] is plain text
    (found,) = pseudo_log_likelihoods(model, BERT, [text], batch_size=2)
    assert model.training
    model.eval()
    ids = BERT(text, split_special_tokens=True, return_tensors="pt")["input_ids"]
    assert found.ids.tolist() == ids[0, 1:-1].tolist()
    assert BERT.mask_token_id not in found.ids
    for place in range(1, ids.shape[1] - 1):
        masked = ids.clone()
        masked[0, place] = BERT.mask_token_id
        outputs = model(masked)
        logits = outputs[0] if hasattr(outputs, "logits") else outputs.prediction_logits
        expected = logits[0, place].log_softmax(-1)[ids[0, place]].item()
        assert found.log_probs[place - 1] == pytest.approx(expected, rel=1e-5)
    assert kind_of(model) == "masked"
    assert score_text(model, BERT, text).bits == pytest.approx(-found.log_prob / math.log(2))


def test_texts_of_no_and_of_too_many_tokens():
    model = bert()
    empty, one = pseudo_log_likelihoods(model, BERT, ["", "cat"])
    assert (empty.log_prob, len(empty.ids)) == (0.0, 0)
    assert one.log_prob < 0
    with pytest.raises(ValueError, match="tokens and the model reads 24 at most"):
        pseudo_log_likelihoods(bert(BertForMaskedLM, BertConfig), BERT, ["the " * 30])
    with pytest.raises(ValueError, match="no mask_token"):
        pseudo_log_likelihoods(model, WORDS, ["the"])
    with pytest.raises(ValueError, match="batch_size is 0"):
        pseudo_log_likelihoods(model, BERT, ["the"], batch_size=0)
    for parameter in model.parameters():
        parameter.data.fill_(float("nan"))
    with pytest.raises(ValueError, match="NaN"):
        pseudo_log_likelihoods(model, BERT, ["the"])


def test_models_of_all_kinds_beside_each_other():
    text = "the cat saw  the dog"
    models = [(ngram(WORDS, 1), WORDS), (ngram(CHARS), CHARS), (bert(), BERT)]
    scored = align_spans([score_text(*loaded, text) for loaded in models], text)
    for one in scored:
        assert [span.text for span in one.spans] == ["the", " cat", " saw", "  the", " dog", ""]
    unigram, characters, masked = ([span.bits for span in one.spans] for one in scored)
    expected = score_texts(*models[0], [text])[0].log_probs / -math.log(2)
    np.testing.assert_allclose(unigram, expected)
    for (model, tokenizer), bits, one in zip(models, (unigram, characters, masked), scored, strict=True):
        assert np.nansum(bits) == pytest.approx(one.bits), (type(model).__name__, len(tokenizer))
    assert [math.isnan(bits) for bits in masked] == [False] * 5 + [True], "BERT has no end of text"


def test_what_gives_no_probability_is_refused():
    stock = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    for model in (bert(BertModel, BertConfig), T5ForConditionalGeneration(T5Config(vocab_size=9, **stock))):
        if kind_of(model) is None:
            with pytest.raises(ValueError, match=f"{type(model).__name__} gives words no probability"):
                score_spans(model, BERT, ["the cat"])
    assert kind_of(bert(BertModel, BertConfig)) is None


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    bits = {"unigram": [1.0, 5.25, math.inf], "BERT": [0.04, 21.0, math.nan]}
    save_surprisal(["the", "$cat$", "end"], bits, tmp_path / "bits.svg", "the $cat$")
    picture = (tmp_path / "bits.svg").read_text(encoding="utf-8")
    for text in ("unigram", "BERT", "the $cat$", "$cat$", "end", "sum", "5.2", "∞", "–", "21.0"):
        assert f"<!-- {text} -->" in picture
    for words, rows in [(["a"] * 31, {"BERT": [1.0] * 31}), ([], {})]:
        with pytest.raises(ValueError, match="cannot be read"):
            save_surprisal(words, rows, tmp_path / "none.svg", "")


def test_words_are_those_of_the_pattern_over_all_of_unicode():
    text = "".join(f"x{chr(code)}" for code in range(0x110000))
    for some in (text, "", " ", "\ud800 a", " \U0001f436\xa0"):
        assert word_places(some).tolist() == [list(match.span()) for match in WORD.finditer(some)]


def test_spans_of_a_long_text_are_arrays(monkeypatch):
    """No object of a token is made, and some bytes of each number are kept."""

    def refuse(*args):
        raise AssertionError("an item was made")

    tokenizer = WordTokenizer.train(["the cat sat"])
    model = NGramForCausalLM.fit(["the cat sat"], tokenizer, order=2, smoothing="add_alpha")
    text = "the cat sat " * 5000
    with monkeypatch.context() as patched:
        patched.setattr(surprisal, "TokenSpan", refuse)
        (scored,) = score_spans(model, tokenizer, [text])
    columns = [one for one in vars(scored.spans).values() if isinstance(one, np.ndarray)]
    assert sum(column.nbytes for column in columns) <= 40 * len(scored.spans)
    spans = list(scored.spans)
    assert (len(spans), spans[1]) == (15_001, TokenSpan(" cat", spans[1].bits, 7))
    assert scored.spans == spans == TokenSpans.of(spans)
    assert scored.spans[-2:] == spans[-2:]
    assert TokenSpans.of(scored.spans) is scored.spans
    assert TokenSpans.of(scored.spans[1:]).ends.tolist() == np.cumsum([len(span.text) for span in spans[1:]]).tolist()
    assert scored.spans[-1] == spans[-1] == scored.spans[15_000]
    assert scored.spans != spans[1:]
    with pytest.raises(IndexError):
        scored.spans[15_001]
