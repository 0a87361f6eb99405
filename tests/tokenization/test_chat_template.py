# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The chat template that comes with every tokenizer of a language model."""

from __future__ import annotations

import pytest
from transformers import AutoTokenizer, TokenizersBackend, pipeline

from hf_lecture_models.hub import export
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.byte import ByteTokenizer
from tests.tokenization.test_every_tokenizer import make

CORPUS = ["Be brief.", "Who was Markov?", "A mathematician.", "And Shannon?"]
KINDS = ("word", "refused", "spelled", "bpe", "bpe_bytes", "char", "byte")
TOKENIZERS = {name: make(name, CORPUS) for name in KINDS}
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who was Markov?"},
    {"role": "assistant", "content": "A mathematician."},
    {"role": "user", "content": "And Shannon?"},
]
RENDERED = "<s>Be brief.\nWho was Markov?\nA mathematician.</s><s>And Shannon?\n"


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_chat_is_plain_text(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    # With this package, and without it.
    for loaded in (tokenizer, AutoTokenizer.from_pretrained(tmp_path), TokenizersBackend.from_pretrained(tmp_path)):
        assert loaded.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True) == RENDERED
        ids = loaded.apply_chat_template(CHAT, add_generation_prompt=True).input_ids
        # Nothing is unknown, and the model reads what it reads of texts.
        assert ids == loaded(RENDERED, add_special_tokens=False).input_ids
        assert loaded.unk_token_id not in ids
        texts = ["Be brief.\nWho was Markov?\nA mathematician.", "And Shannon?\n"]
        assert ids == [*loaded(texts[0]).input_ids, loaded.eos_token_id, *loaded(texts[1]).input_ids]


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_longer_chat_begins_as_the_shorter_one(tokenizer):
    """What fine-tuning on chats relies on: a question with room for the answer, and then the answer."""
    for length in range(1, len(CHAT)):
        asked = tokenizer.apply_chat_template(CHAT[:length], add_generation_prompt=True).input_ids
        answered = tokenizer.apply_chat_template(CHAT[: length + 1]).input_ids
        assert answered[: len(asked)] == asked
        assert len(answered) > len(asked)


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_what_the_assistant_says_is_known(tokenizer):
    chat = tokenizer.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
    said = [token for token, mask in zip(chat["input_ids"], chat["assistant_masks"], strict=True) if mask]
    assert said == [*tokenizer("A mathematician.", add_special_tokens=False).input_ids, tokenizer.eos_token_id]


def test_without_a_token_for_the_beginning():
    tokenizer = ByteTokenizer(bos_token=None)
    assert tokenizer.apply_chat_template(CHAT, tokenize=False) == RENDERED.replace("<s>", "").removesuffix("\n")


def test_a_template_of_ones_own_wins(tmp_path):
    own = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    given, assigned = ByteTokenizer(chat_template=own), ByteTokenizer()
    assigned.chat_template = own
    for place, tokenizer in (("given", given), ("assigned", assigned)):
        tokenizer.save_pretrained(tmp_path / place)
        loaded = AutoTokenizer.from_pretrained(tmp_path / place)
        assert loaded.apply_chat_template(CHAT[:1], tokenize=False) == "system: Be brief.\n"


def test_folders_from_before_have_it_too(tmp_path):
    TOKENIZERS["word"].save_pretrained(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True) == RENDERED


def test_the_pipeline_answers_and_the_published_folder_has_the_template(tmp_path):
    tokenizer = TOKENIZERS["word"]
    texts = [" ".join(CORPUS[:3])]
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="add_alpha", alpha=0.01, progress=False)
    export(model, tokenizer, tmp_path)
    answer = pipeline("text-generation", model=str(tmp_path), max_new_tokens=9, do_sample=False)
    (found,) = answer(CHAT[:2])
    assert found["generated_text"][-1] == CHAT[2]
    assert TokenizersBackend.from_pretrained(tmp_path).chat_template == tokenizer.chat_template
