# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the page `next_word` computes in JavaScript equals what the models and their tokenizers compute in Python."""

import random
from copy import deepcopy
from dataclasses import fields

import numpy as np
import pytest
import torch

from hf_lecture_models import (
    NGramConfig,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
    WordTokenizer,
)
from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.lab.live.pages import PAGES
from hf_lecture_models.lab.live.supported import SETTINGS, refuse_model
from hf_lecture_models.lab.live.weights import LiveModel, weights_script
from hf_lecture_models.layers.positions import causal_buckets
from hf_lecture_models.tokenization.unknown_words import UnknownWordError
from tests.live.conftest import TEXTS
from tests.live.running import run_node

SCRIPTS = ["numbers.js", *PAGES["next_word"].parts]
JS_CLASSES = {NGramForCausalLM: "NGram", RecurrentForCausalLM: "LSTM", SelfAttentionForCausalLM: "SelfAttention"}
# What each model makes of each text: the refusal, or ln P after the last word, or after each, and attention maps.
READ = """
const KINDS = { lecture_ngram: NGram, lecture_recurrent: LSTM, lecture_self_attention: SelfAttention };
const finite = (values) => Array.from(values, (value) => (value === -Infinity ? null : value));
function read({ config, tensors, tokenizer }, texts) {
  let model;
  try {
    model = new KINDS[config.model_type](readSafetensors(fromBase64(tensors)), config);
  } catch (error) {
    return String(error.message);
  }
  return texts.map((text, number) => {
    let state = model.start();
    const logProbs = [];
    const maps = [];
    const ids = readTokenizer(LIVE.tokenizers[tokenizer]).encode(text);
    ids.forEach((id, t) => {
      state = model.next(state, id);
      if (number < 3 || t === ids.length - 1) logProbs.push(finite(model.logProbs(state)));
      if (number < 3 && state.maps) maps.push(state.maps.map((layer) => layer.map((a) => [...a])));
    });
    return { logProbs, maps };
  });
}
const main = (texts) => LIVE.models.map((model) => read(model, texts));
"""


def fifty_texts() -> list[str]:
    """The first three are read word by word; then unknown words, white space of two languages, special tokens, ..."""
    draw, words = random.Random(1), " ".join(TEXTS).split()
    odd = ["", "the cat zebra saw", "the\x85cat", "\ufeffthe cat", "the \ufeff cat", "a</s>the <unk>", "  the  "]
    drawn = [" ".join(draw.choices(words, k=draw.randrange(1, 30))) for _ in range(42)]
    return ["the old cat ran", "zebra", "", *drawn[:39], *odd, " ".join(draw.choices(words, k=200))]


def in_double(model):
    """A copy in float64, with the tables of an n-gram too."""
    model = deepcopy(model).double()
    if isinstance(model, NGramForCausalLM):
        for name, buffer in model.trie.named_buffers():
            model.trie.register_buffer(name, buffer.double() if buffer.is_floating_point() else buffer)
    return model


@torch.no_grad()
def expected(model, tokenizer, texts) -> list[dict]:
    """What `READ` returns for a model."""
    found = []
    for number, text in enumerate(texts):
        ids = tokenizer(text, return_tensors="pt").input_ids
        shows = number < 3 and isinstance(model, SelfAttentionForCausalLM)
        outputs = model(ids, **({"output_attentions": True} if shows else {}))
        log_probs = (
            outputs.logits[0].log_softmax(-1) if model.config.model_type != "lecture_ngram" else outputs.logits[0]
        )
        maps = [[[one[0, head, t, : t + 1] for head in range(one.shape[1])] for one in outputs.attentions]
                for t in range(ids.shape[1])] if shows else []  # fmt: skip
        found.append({"logProbs": log_probs if number < 3 else log_probs[-1:], "maps": maps})
    return found


def largest_difference(answers, wanted) -> float:
    """The largest difference of ln P, or of attention weights, anywhere; both have -inf at the same words."""
    assert len(answers) == len(wanted)
    largest = 0.0
    for answer, right in zip(answers, wanted, strict=True):
        ours = np.array(answer["logProbs"], dtype=float)
        theirs = right["logProbs"].numpy()
        assert ours.shape == theirs.shape
        assert ((never := np.isnan(ours)) == np.isneginf(theirs)).all()
        largest = max(largest, np.abs(ours - theirs)[~never].max())
        for ours, theirs in zip(answer["maps"], right["maps"], strict=True):
            for one, other in zip(ours, theirs, strict=True):
                largest = max(
                    largest, *(np.abs(np.array(a) - b.numpy()).max() for a, b in zip(one, other, strict=True))
                )
    return float(largest)


@pytest.mark.parametrize("half", [False, True])
def test_fifty_texts_have_the_probabilities_of_python(tmp_path, live_models, half):
    texts = fifty_texts()
    assert len(texts) == 50
    answers = run_node(tmp_path, SCRIPTS, weights_script(live_models, half=half) + READ, texts)
    for one, answer in zip(live_models, answers, strict=True):
        model = deepcopy(one.model)
        if half:
            model.half()  # what is stored; an n-gram's tables are not cast
        assert largest_difference(answer, expected(in_double(model), one.tokenizer, texts)) < 1e-10, one.title


# Fields of the networks away from their defaults, which the small sizes below make of some.
RECURRENT = [
    {"dropout": 0.5, "initializer_range": 0.2, "use_cache": False, "noise_samples": 8, "pad_token_id": 0},
    {"tie_word_embeddings": True, "num_hidden_layers": 3},
    {"embedding_size": 4, "output_layer": "noise_contrastive", "bos_token_id": 1, "eos_token_id": 2},
    {"cell_type": "gru"},
    {"cell_type": "elman"},
    {"projection_size": 4},
    {"output_projection_size": 4},
    {"output_layer": "adaptive", "adaptive_cutoffs": [4]},
    {"bidirectional": True},
    {"pooling": "mean"},
    {"pair_combination": "sum"},
]
ATTENTION = [
    {"norm_position": "post", "position_encoding": "alibi", "num_attention_heads": 6, "use_cache": False},
    {"norm_position": "post", "layer_mix": True, "position_encoding": "learned", "max_position_embeddings": 40},
    {"layer_mix": True, "hidden_act": "swish", "tie_word_embeddings": False, "intermediate_size": 20},
    {"hidden_act": "relu", "position_encoding": "none", "layer_norm_eps": 0.1, "dropout": 0.5},
    {"hidden_act": "silu", "num_hidden_layers": 1, "num_attention_heads": 3, "position_encoding": "alibi"},
    {
        "position_encoding": "relative",
        "initializer_range": 0.5,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    {
        "position_encoding": "relative",
        "relative_attention_num_buckets": 6,
        "relative_attention_max_distance": 9,
    },
    {"hidden_act": "gelu"},
]
NGRAM = [
    *({"smoothing": name} for name in SETTINGS[NGramForCausalLM]["smoothing"] if name),
    {"order": 1, "smoothing": "add_alpha", "alpha": 0.5},
    {"order": 4, "smoothing": "katz", "katz_k": 3},
    {"order": 5, "smoothing": "absolute_discounting", "prune": [0, 1]},
    {"smoothing": "stupid_backoff", "backoff_factor": 0.3},
    {"smoothing": "absolute_discounting", "classes": 4},
]


def drawn(model):
    """The model with all its parameters drawn, also those that begin as 0 or 1."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
    return model.eval()


def ngrams(tokenizer):
    """N-grams of all kinds."""
    texts = TEXTS * 2 + ["the cat ran", "an old mouse saw the old house"]
    models = []
    for options in NGRAM:
        given = {"held_out": TEXTS} if options.get("smoothing") == "jelinek_mercer" else {}
        models.append(NGramForCausalLM.fit(texts, tokenizer, **{"order": 3, **options, **given}, progress=False))
    mixed = NGramForCausalLM.interpolate(models[:2], tokenizer, weights=[0.5, 0.5], progress=False)
    hashed = NGramForCausalLM(NGramConfig(vocab_size=len(tokenizer), order=2, hashed=True, smoothing=None))
    unnamed = deepcopy(models[6])
    unnamed.config.smoothing = None
    return [*models, models[5].quantise(8), mixed, hashed, unnamed]


def every_kind(tokenizer):
    """Models with each field of their configurations away from its default, and those that the classes refuse."""
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 12}
    models, refused = ngrams(tokenizer), []
    for options in RECURRENT:
        config = RecurrentConfig(**{**sizes, **options})
        try:
            models.append(drawn(RecurrentForCausalLM(config)))
        except ValueError:
            refused.append(config)
    attention = [{**sizes, "intermediate_size": None, "num_attention_heads": 4, **options} for options in ATTENTION]
    models += [drawn(SelfAttentionForCausalLM(SelfAttentionConfig(**options))) for options in attention]
    return models, refused


def changed_fields(config) -> set[str]:
    """The fields of a configuration's own class that differ from their defaults."""
    own = {field.name: field.default for field in fields(config)}
    for field in fields(LectureConfig):
        own.pop(field.name)
    return {name for name, default in own.items() if getattr(config, name) != default}


def test_each_setting_is_computed_or_refused(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    torch.manual_seed(0)
    models, refused = every_kind(tokenizer)
    texts = ["the old cat ran", "zebra", "", " ".join(TEXTS)]
    entries = [LiveModel("", "", model, tokenizer) for model in models]
    answers = run_node(tmp_path, SCRIPTS, weights_script(entries) + READ, texts)
    computed = 0
    for model, answer in zip(models, answers, strict=True):
        wrong = [name for name, allowed in SETTINGS[type(model)].items() if getattr(model.config, name) not in allowed]
        if isinstance(answer, str):
            assert f"with {wrong[0]} = " in answer
            with pytest.raises(ValueError, match=f"^mine has {wrong[0]}="):
                refuse_model("mine", model, tokenizer)
        else:
            refuse_model("mine", model, tokenizer)
            computed += 1
            assert largest_difference(answer, expected(in_double(model), tokenizer, texts)) < 1e-10, model.config
    assert computed == len(models) - 11
    tried = {}
    for config in [*(model.config for model in models), *refused]:
        tried.setdefault(type(config), set()).update(changed_fields(config))
    for kind, names in tried.items():
        assert {field.name for field in fields(kind)} - {field.name for field in fields(LectureConfig)} == names


def test_the_rules_are_the_same_in_both_languages(tmp_path):
    code = f"const main = () => [{', '.join(f'{name}.settings' for name in JS_CLASSES.values())}];"
    assert run_node(tmp_path, SCRIPTS, code) == [
        {name: list(values) for name, values in SETTINGS[kind].items()} for kind in JS_CLASSES
    ]


def test_buckets_of_distances_are_those_of_python(tmp_path):
    sizes = [(buckets, most) for buckets in range(2, 40) for most in (buckets, 16, 100, 128) if most > buckets // 2]
    code = "const main = (sizes) => sizes.map(([b, m]) => [...Array(201).keys()].map((d) => causalBucket(d, b, m)));"
    answers = run_node(tmp_path, SCRIPTS, code, sizes)
    for answer, (buckets, most) in zip(answers, sizes, strict=True):
        assert answer == causal_buckets(torch.arange(201), buckets, most).tolist(), (buckets, most)


def test_any_word_reaches_the_page(tmp_path, live_models):
    """A word of JavaScript's own, and words that end a script, or a text in quotes."""
    tokenizer = WordTokenizer.from_words(["__proto__", "</script>", '"', "\\\\n", "'", "\u2028"])
    script = weights_script([LiveModel("</script>", '"', live_models[0].model, tokenizer)])
    assert "</" not in script
    code = "const main = () => [LIVE.models[0].title, LIVE.models[0].seen, readTokenizer(LIVE.tokenizers[0]).tokens];"
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    assert run_node(tmp_path, SCRIPTS, script + code) == ["</script>", '"', words]


def odd_strings(words) -> list[str]:
    """A thousand strings of words, white space of both languages, special tokens, marks and characters of all planes."""
    draw = random.Random(2)
    spaces = [" ", "\t", "\n", "\x85", "\ufeff", "\xa0", "\u200b", "\u2028", "\u3000", "\x1c", "\x0b"]
    marks = [".", ",", "¿", "„", "-", "_", "$", "’", "…", "（", "<", ">", "|", "\\", "^"]
    special = ["<s>", "</s>", "<unk>", "<pad>", "<", "<s", "<unk", "[UNK]", "__proto__", "constructor"]
    letters = [
        "İ",
        "ß",
        "Σ",
        "ς",
        "ﬁ",
        "é",
        "e\u0301",
        "Ǆ",
        "\U0001f600",
        "\U00010400",
        "١",
        "中",
        "\u0130x",
        "\x00",
        "0",
    ]
    pools = [words, [word.upper() for word in words], spaces, marks, special, letters]
    return ["".join(draw.choice(draw.choice(pools)) for _ in range(draw.randrange(12))) for _ in range(1000)]


def test_a_thousand_strings_are_split_as_in_python(tmp_path):
    texts = [*TEXTS, "__proto__ constructor 12 0 The Straße"]
    plain = WordTokenizer.train(texts, progress=False)
    lowered = WordTokenizer.train(texts, lower_case=True, split_punctuation=True, progress=False)
    ended = WordTokenizer.train(texts, add_eos_token=True, progress=False)
    closed = WordTokenizer.train(texts, unk_token=None, progress=False)
    code = """const main = ([tokenizers, strings]) => tokenizers.map((text) => {
      const tokenizer = readTokenizer(JSON.parse(text));
      return strings.map((one) => {
        try { return tokenizer.encode(one); } catch (error) { return null; }
      });
    });"""
    tokenizers, strings = [plain, lowered, ended, closed], odd_strings(" ".join(texts).split())
    given = [[one.backend_tokenizer.to_str() for one in tokenizers], strings]
    for tokenizer, answers in zip(tokenizers, run_node(tmp_path, SCRIPTS, code, given), strict=True):
        after = tokenizer is ended
        for text, answer in zip(strings, answers, strict=True):
            try:
                wanted = tokenizer(text).input_ids[: -1 if after else None]
            except UnknownWordError:
                wanted = None
            assert answer == wanted, ascii(text)
