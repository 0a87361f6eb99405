# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Continuations: how long they may be, and what an empty prompt starts from."""

import re

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, pipeline

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    NGramLogitsProcessor,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.evaluation import sentence_ranking
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.generation.completion import complete
from hf_lecture_models.generation.next_words import NextWordFinder
from hf_lecture_models.lab.demo.answers import LoadedModel, Sampling, continue_text, next_tokens

WORDS = WordTokenizer.train(["a b c d e f"], progress=False)
SMALL = {"vocab_size": len(WORDS), "hidden_size": 8, "num_hidden_layers": 1}
IDS = {name: getattr(WORDS, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}


def attention(config_class, model_class, **fields):
    torch.manual_seed(0)
    config = config_class(**SMALL, **IDS, num_attention_heads=2, max_position_embeddings=8, **fields)
    return model_class(config).eval()


def gpt1():
    """It reads 8 tokens, so that the ninth is the last, and never ends a text."""
    model = attention(Gpt1Config, Gpt1ForCausalLM)
    model.generation_config.suppress_tokens = [WORDS.eos_token_id]
    return model


def test_a_continuation_stops_where_the_model_can_read_no_more():
    found = complete(gpt1(), WORDS, ["a b", "a b c d e f", "a"], stop_at_limit=True)
    # <s> stands before each prompt, and the last token need not be read.
    assert [(one["tokens"], one["stopped_at_limit"]) for one in found] == [(6, True), (2, True), (7, True)]
    few = complete(gpt1(), WORDS, ["a b", "a b c d e f"], max_new_tokens=3, stop_at_limit=True)
    assert [(one["tokens"], one["stopped_at_limit"]) for one in few] == [(3, False), (2, True)]


def test_what_a_prompt_gets_does_not_depend_on_its_neighbours():
    prompts = ["a b", "a b c d e f", "c"]
    together = complete(gpt1(), WORDS, prompts, stop_at_limit=True, num_beams=2, num_return_sequences=2)
    alone = [
        one
        for prompt in prompts
        for one in complete(gpt1(), WORDS, [prompt], stop_at_limit=True, num_beams=2, num_return_sequences=2)
    ]
    assert together == alone


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ("a b", {"max_new_tokens": 7}, "a prompt of 3 tokens and 7 new ones exceed the model's longest input, 8"),
        ("a b", {}, "shorten the prompt or ask for fewer new tokens"),
        ("a " * 9, {"stop_at_limit": True}, "a prompt of 10 tokens"),
    ],
)
def test_what_does_not_fit_is_refused(prompt, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        complete(gpt1(), WORDS, [prompt], **options)
    assert ("fewer" in str(caught.value)) == (prompt == "a b")


@pytest.mark.parametrize("kind", ["alibi", "sinusoidal", "relative", "none"])
def test_positions_that_do_not_end_have_no_limit(kind):
    model = attention(SelfAttentionConfig, SelfAttentionForCausalLM, position_encoding=kind)
    (found,) = complete(model, WORDS, ["a b c " * 10], max_new_tokens=12, suppress_tokens=[WORDS.eos_token_id])
    assert (found["tokens"], found["stopped_at_limit"]) == (12, False)


def stranger(**special):
    """A tokenizer of transformers' own, which puts nothing in front of a text."""
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "<unk>": 2, "</s>": 3}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", **special)


def recurrent(eos):
    return RecurrentForCausalLM(RecurrentConfig(**SMALL | {"vocab_size": 4}, eos_token_id=eos)).eval()


def gpt2(eos):
    fields = {"n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 16, "bos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(vocab_size=4, eos_token_id=eos, **fields)).eval()


USES = {
    "complete": lambda model, tokenizer: complete(model, tokenizer, ["a", ""], max_new_tokens=2),
    "next words": lambda model, tokenizer: NextWordFinder(model, tokenizer).find(""),
    "score": lambda model, tokenizer: score_texts(model, tokenizer, ["a", ""]),
    "score prefixes": lambda model, tokenizer: score_texts(model, tokenizer, [""], probability="prefix"),
    "rank": lambda model, tokenizer: pipeline("sentence-ranking", model=model, tokenizer=tokenizer)(["a", ""]),
    "rank in a published folder": lambda model, tokenizer: sentence_ranking.score_sentences(model, tokenizer, [""]),
    "continue in the demo": lambda m, tokenizer: continue_text(LoadedModel("m", m, tokenizer), "", Sampling(2)),
    "next tokens in the demo": lambda m, tokenizer: next_tokens(LoadedModel("m", m, tokenizer), "", number=2),
    "fuse": lambda model, tokenizer: NGramLogitsProcessor(model, tokenizer),
}


@pytest.mark.parametrize("make", [recurrent, gpt2])
@pytest.mark.parametrize("use", USES)
def test_an_empty_text_begins_after_the_end_of_another_or_is_refused(use, make):
    if use == "rank in a published folder":
        make = recurrent  # theirs have no `score`
    assert USES[use](make(eos=3), stranger(eos_token="</s>")) is not None
    with pytest.raises(ValueError, match="the tokenizer has neither bos_token nor eos_token") as caught:
        USES[use](make(eos=None), stranger())
    assert "\n" not in str(caught.value)


def test_a_prompt_that_is_not_empty_needs_no_beginning():
    (found,) = complete(recurrent(eos=None), stranger(), ["a b"], max_new_tokens=3)
    assert (found["tokens"], found["finished"]) == (3, False)


@pytest.mark.parametrize("make", [recurrent, gpt2])
def test_the_pipeline_of_transformers_has_a_message_of_its_own(make):
    """The same for a model of theirs; docs/clients.md says so."""
    generate = pipeline("text-generation", model=make(eos=3), tokenizer=stranger(eos_token="</s>"))
    with pytest.raises(ValueError, match="`bos_token_id` has to be defined"):
        generate("", max_new_tokens=2)
    assert generate("", max_new_tokens=2, bos_token_id=3)


def test_a_prompt_may_begin_with_its_mark():
    """`<s> a` is the prompt `a`: two <s> would be a context that no text has."""
    model, seen = RecurrentForCausalLM(RecurrentConfig(**SMALL, **IDS)).eval(), []
    model.generate = lambda input_ids, **_: seen.append(input_ids.tolist()) or input_ids
    for prompt in ("a", "<s> a", "<s>", ""):
        complete(model, WORDS, [prompt], max_new_tokens=1)
    assert seen[0] == seen[1] == [WORDS("a")["input_ids"]]
    assert seen[2] == seen[3] == [[WORDS.bos_token_id]]
