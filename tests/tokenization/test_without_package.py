# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Saved tokenizers serve where this package is not installed: one process loads them all, and gives the same ids."""

import json
import subprocess
import sys

import pytest
from transformers import AutoTokenizer

from tests.tokenization.test_every_tokenizer import CLASSES, make

# A name of `CLASSES` each, and options; the words that the calls name are known or unknown by turns.
KINDS: dict[str, tuple[str, dict]] = {name: (name, {}) for name in CLASSES} | {
    "word_both": ("word", {"add_eos_token": True, "padding_side": "right", "model_max_length": 12}),
    "word_none": ("word", {"add_bos_token": False}),
    "word_bert": ("word", {"template": "bert"}),
    "char_pair": ("char", {"template": "pair"}),
    "char_both": ("char", {"min_count": 2, "add_eos_token": True, "bos_token": "^"}),
    "byte_both": ("byte", {"add_eos_token": True}),
    "bpe_both": ("bpe", {"end_of_word": "#", "add_eos_token": True, "unk_token": "[UNK]"}),
    "bpe_gpt1": ("bpe", {"template": "gpt1"}),
    "unigram_bytes": ("unigram_bytes", {"template": "bert"}),
}
TEXTS = ["the cat saw the dog", "a dog <unk> né Paris 12"]
TOKENIZERS = {name: make(kind, TEXTS, **options) for name, (kind, options) in KINDS.items()}

CALLS = [
    (["the dog"], {}),
    ([["the dog", "", "a né  cat\n"]], {"padding": True}),
    ([["the dog saw", "a"], ["a cat", "dog"]], {"padding": True}),
    ([["the", "dog"]], {"is_split_into_words": True}),
    (["the <s> dog</s>"], {}),
    (["a <unk>"], {"split_special_tokens": True}),
    (["the cat saw the dog"], {"truncation": True, "max_length": 3}),
]
OPEN_CALLS = [
    (["the <s> </s> a<pad>b zebra"], {"split_special_tokens": True}),
    (["zebra\u3000x\x1fy <unk> \0👩‍👩‍👧 \u05d0"], {"return_offsets_mapping": True}),
    (["Paris Rome 12 13 IBM anti-Hutu -- <unk:number>"], {"return_offsets_mapping": True}),
    ([["the <s>", "b"], ["</s>", ""]], {"split_special_tokens": True, "padding": True}),
]

SCRIPT = """
import json, sys
sys.modules["hf_lecture_models"] = None
from transformers import AutoTokenizer
found = {}
for name, calls in json.load(sys.stdin).items():
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1] + "/" + name)
    outputs = [dict(tokenizer(*texts, **options)) for texts, options in calls]
    lengths = (5, len(tokenizer))
    decoded = [tokenizer.decode(range(n), skip_special_tokens=skip) for n in lengths for skip in (False, True)]
    found[name] = [type(tokenizer).__name__, tokenizer.special_tokens_map, outputs, decoded]
    try:
        tokenizer("zebra")
    except Exception as error:
        found[name].append(str(error))
print(json.dumps(found))
"""


def calls_for(name):
    return CALLS if name == "refused" else CALLS + OPEN_CALLS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokenizers")
    for name, tokenizer in TOKENIZERS.items():
        tokenizer.save_pretrained(root / name)
    return root


@pytest.fixture(scope="module")
def found(folder):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        input=json.dumps({name: calls_for(name) for name in TOKENIZERS}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.cases(2, 3)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_generic_class_agrees(found, folder, name):
    kind, special_tokens, outputs, decoded, *error = found[name]
    assert kind == "TokenizersBackend"
    # The tokenizer in memory, and what this package loads.
    for ours in (TOKENIZERS[name], AutoTokenizer.from_pretrained(folder / name)):
        assert special_tokens == ours.special_tokens_map
        expected = [dict(ours(*texts, **options)) for texts, options in calls_for(name)]
        assert outputs == json.loads(json.dumps(expected))
        lengths = (5, len(ours))
        assert decoded == [ours.decode(range(n), skip_special_tokens=skip) for n in lengths for skip in (False, True)]
    assert error == (["WordLevel error: Missing [UNK] token from the vocabulary"] if name == "refused" else [])
