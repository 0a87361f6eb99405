# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Saved tokenizers serve where this package is not installed: one process loads them all, and gives the same ids."""

import json
import subprocess
import sys

import pytest
from transformers import AutoTokenizer

from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.unigram import UnigramTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from hf_lecture_models.tokenization.wordpiece import WordPieceTokenizer

CORPUS = ["the cat saw the dog", "a dog <unk> né"]
TOKENIZERS = {
    "word": WordTokenizer.train(CORPUS),
    "word_both": WordTokenizer.train(CORPUS, add_eos_token=True, padding_side="right", model_max_length=12),
    "word_none": WordTokenizer.train(CORPUS, add_bos_token=False),
    "closed": WordTokenizer.train(CORPUS, unk_token=None),
    "classes": WordTokenizer.train([*CORPUS, "Paris 12"], unknown_words="classes"),
    "spelled": WordTokenizer.train(CORPUS, min_count=2, unknown_words="spelled"),
    "byte": ByteTokenizer(),
    "byte_both": ByteTokenizer(add_eos_token=True),
    "char": CharTokenizer.train(CORPUS),
    "char_both": CharTokenizer.train(CORPUS, min_count=2, add_eos_token=True, bos_token="^"),
    "bpe": BpeTokenizer.train(CORPUS),
    "bpe_both": BpeTokenizer.train(CORPUS, merges=5, end_of_word="#", add_eos_token=True, unk_token="[UNK]"),
    "bpe_gpt1": BpeTokenizer.train(CORPUS, template="gpt1"),
    "word_bert": WordTokenizer.train(CORPUS, template="bert"),
    "char_pair": CharTokenizer.train(CORPUS, template="pair"),
    "wordpiece": WordPieceTokenizer.train([*CORPUS, "né Né café 東京"]),
    "unigram": UnigramTokenizer.train(CORPUS),
    "unigram_bytes": UnigramTokenizer.train(CORPUS, form="bytes", template="bert"),
    "bpe_bytes": BpeTokenizer.train(CORPUS, form="bytes", padding_side="right"),
}

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
    return CALLS if name == "closed" else CALLS + OPEN_CALLS


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
    assert error == (["WordLevel error: Missing [UNK] token from the vocabulary"] if name == "closed" else [])
