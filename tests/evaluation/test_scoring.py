# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What texts have in common is scored once, and equal to what each gets alone; an n-gram reads texts as one stream."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from hf_lecture_models import NGramForCausalLM, RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import ContextLimit, score_rows, score_texts
from tests.model_tests import perturb

TEXTS = ["the cat saw the dog", "the cat ran", "a dog ran", "the cat saw the cat", "the cat", "", "the cat ran"]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_shared_beginnings(monkeypatch, batch_size):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids))
    alone = [score_texts(model, tokenizer, [text])[0].log_probs for text in TEXTS]
    computed, score = [], model.score

    def counting(input_ids, attention_mask=None, wanted=None):
        computed.append(int((wanted & attention_mask.bool()).sum()))
        return score(input_ids, attention_mask, wanted)

    monkeypatch.setattr(model, "score", counting)
    together = score_texts(model, tokenizer, TEXTS, batch_size=batch_size)
    for one, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.log_probs, expected, rtol=1e-5)
    # Not even rounding parts them: the, cat, saw, the.
    assert together[0].log_probs[:4].tolist() == together[3].log_probs[:4].tolist()
    texts = [(*text.split(), "</s>") for text in TEXTS]
    assert sum(computed) == len({text[: end + 1] for text in texts for end in range(len(text))})
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(("longest", "read"), [(9, 2), (4, 3)])
def test_equal_rows_go_through_the_model_once(monkeypatch, longest, read):
    model = RecurrentForCausalLM(RecurrentConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1)).eval()
    rows = [np.array(row) for row in ([1, 2, 3, 4, 5, 6], [1, 7, 3], [1, 2, 3, 4, 5, 6])]
    limit = ContextLimit(longest, overlap=2, exact=False)
    (alone,) = score_rows(model, rows[:1], limit, batch_size=1, progress=False)
    computed, score = [], model.score
    monkeypatch.setattr(model, "score", lambda ids, mask, wanted: computed.append(len(ids)) or score(ids, mask, wanted))
    found = score_rows(model, rows, limit, batch_size=1, progress=False)
    assert alone.all()
    assert found[0].tolist() == found[2].tolist() == alone.tolist()
    assert sum(computed) == read


@pytest.mark.parametrize("smoothing", ["absolute_discounting", "stupid_backoff"])
def test_an_ngram_reads_rows_as_one_stream(monkeypatch, smoothing):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing=smoothing, progress=False)
    ends = tokenizer.bos_token_id, tokenizer.eos_token_id
    rows = [[ends[0], *tokenizer.encode(text, add_special_tokens=False), ends[1]] for text in TEXTS]
    alone = [model.score(torch.tensor([row]))[0, 1:].double().tolist() for row in rows]
    scores = score_texts(model, tokenizer, TEXTS)
    assert [score.log_probs.tolist() for score in scores] == alone
    assert [score.log_prob for score in scores] == pytest.approx([sum(row) for row in alone])
    # Pieces of five tokens, which end within rows and between them, and share the two tokens of a context.
    calls, joined = [], model.score_joined
    monkeypatch.setattr(
        NGramForCausalLM, "score_joined", lambda self, *args: calls.append(len(args[0])) or joined(*args)
    )
    limit = ContextLimit(longest=5, overlap=2, exact=True)
    found = score_rows(model, [np.array(row) for row in rows], limit, batch_size=64, progress=False)
    assert [row.tolist() for row in found] == alone
    assert max(calls) == 5
    assert len(calls) > 2
    assert score_rows(model, [], limit, batch_size=1, progress=False) == []


def test_tokens_outside_the_vocabulary_are_no_rows():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, progress=False)
    with pytest.raises(ValueError, match="vocab"):
        model.score_joined(torch.tensor([1, len(tokenizer)]), torch.tensor([True, False]))


def test_places_of_unknown_words():
    texts = ["", "a zz", "a a", "<unk> yy a <unk> xx", " \n", "zz"]
    tokenizer = WordTokenizer.from_words(["a"])
    generic = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, unk_token="<unk>")
    for one in (tokenizer, generic):  # word by word, and by the places of tokens in the text
        encoded = encode_texts(one, texts)
        assert [text.unknown_words for text in encoded] == [(), ("zz",), (), ("yy", "xx"), (), ("zz",)]
        assert [text.unknown_tokens for text in encoded] == [(), (1,), (), (1, 4), (), (0,)]
        assert [text.words for text in encoded] == [0, 2, 2, 5, 0, 1]
    spelled = WordTokenizer.from_words(["a", "b"], unknown_words="spelled")
    assert [text.words for text in encode_texts(spelled, ["a ba", ""])] == [2, 0]


BERT = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
BERT |= {"max_position_embeddings": 16}
XLM = {"emb_dim": 8, "n_layers": 1, "n_heads": 2, "max_position_embeddings": 16}


def foreign(tokenizer, model_type, fields):
    """A model of transformers with random weights of a size that trained ones have."""
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = AutoConfig.for_model(model_type, vocab_size=len(tokenizer), **ids, **fields)
    model = AutoModelForCausalLM.from_config(config).eval()
    perturb(model, 0.3)
    return model


@pytest.mark.parametrize(
    ("model_type", "fields", "limit"),
    [
        ("mpt", {"d_model": 8, "n_layers": 1, "n_heads": 2, "max_seq_len": 16}, 16),
        ("bloom", {"hidden_size": 8, "n_layer": 1, "n_head": 2}, None),
        ("mamba", {"hidden_size": 8, "num_hidden_layers": 1, "state_size": 4}, None),
        ("rwkv", {"hidden_size": 8, "num_hidden_layers": 2, "attention_hidden_size": 8, "context_length": 16}, 16),
        ("xlm", XLM | {"causal": True}, 16),
        ("bert", BERT | {"is_decoder": True}, 16),
        ("gpt_neox", BERT | {"rotary_pct": 0.5}, 16),
    ],
)
@torch.no_grad()
def test_models_of_transformers_whose_limit_has_another_name_or_none(model_type, fields, limit):
    """By hand: each token's log-probability after those before it in windows of `limit` tokens that half overlap."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = foreign(tokenizer, model_type, fields)
    assert input_limit(model) == limit
    text = "the cat saw the dog " * 6
    row = [tokenizer.bos_token_id, *tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
    expected, longest = [], limit or len(row)
    for place in range(1, len(row)):
        past = max(0, place - longest + 1)
        start = -(-past // (longest // 2)) * (longest // 2)  # windows begin at multiples of half their length
        logits = model(torch.tensor([row[start:place]])).logits[0, -1]
        expected.append(logits.log_softmax(-1)[row[place]].item())
    found = score_texts(model, tokenizer, [text])[0].log_probs
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("model_type", "fields"),
    [
        ("xlnet", {"d_model": 8, "n_layer": 1, "n_head": 2, "d_inner": 8}),
        ("xlm", XLM),
        ("bert", BERT),
        ("roberta", BERT),
        ("electra", BERT | {"embedding_size": 8}),
    ],
)
def test_models_that_see_later_tokens_are_refused(model_type, fields):
    """AutoModelForCausalLM loads them, but what they give to a token depends on the tokens after it."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = foreign(tokenizer, model_type, fields)
    with pytest.raises(ValueError, match=rf"^{type(model).__name__} sees later tokens.* left to right .*MaskedLM"):
        score_texts(model, tokenizer, TEXTS)
