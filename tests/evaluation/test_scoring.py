# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What texts have in common is scored once, and equal to what each gets alone; an n-gram reads texts as one stream."""

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from hf_lecture_models import NGramForCausalLM, RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import ContextLimit, score_rows, score_texts

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
