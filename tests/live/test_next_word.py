# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the page `next_word` computes in JavaScript equals what the models and their tokenizers compute in Python."""

import math
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
from hf_lecture_models.lab.live.pages import PAGES, standalone_page
from hf_lecture_models.lab.live.supported import SETTINGS, refuse_model
from hf_lecture_models.lab.live.weights import LiveModel, weights_script
from hf_lecture_models.layers.positions import alibi_slopes, causal_buckets
from hf_lecture_models.tokenization.unknown_words import UnknownWordError
from tests.live.conftest import TEXTS
from tests.live.running import focused_name, opened, run_node, tab_to

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
    const ids = new WordTokenizer(LIVE.tokenizers[tokenizer]).encode(text);
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
        never = np.isnan(ours)
        assert (never == np.isneginf(theirs)).all()
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
    {"norm_position": "post", "position_encoding": "alibi", "num_attention_heads": 12, "use_cache": False},
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


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_each_setting_is_computed_or_refused(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    torch.manual_seed(0)
    models, refused = every_kind(tokenizer)
    texts = ["the old cat ran", "the old cat", "", " ".join(TEXTS)]
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


# A 3-gram whose last two words are no stored 2-gram, as SRILM's files may have it.
ARPA = """\\data\\
ngram 1=6
ngram 2=3
ngram 3=2
ngram 4=1

\\1-grams:
-99 <s> -0.15
-1.5 </s>
-0.8 the -0.2
-0.9 old -0.25
-0.6 cat -0.3
-0.7 ran

\\2-grams:
-0.5 <s> the -0.2
-0.3 the old -0.4
-0.7 the cat -0.1

\\3-grams:
-0.2 <s> the old -0.3
-0.1 the old cat -0.25

\\4-grams:
-0.05 the old cat ran

\\end\\
"""


def test_a_file_that_lacks_shorter_ngrams_is_read_as_in_python(tmp_path):
    (tmp_path / "lm.arpa").write_text(ARPA, encoding="utf-8")
    model, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    texts = ["the old cat ran", "the old cat", "the old the cat"]
    (answer,) = run_node(tmp_path, SCRIPTS, weights_script([LiveModel("", "", model, tokenizer)]) + READ, texts)
    assert largest_difference(answer, expected(in_double(model), tokenizer, texts)) < 1e-10


def test_the_rules_are_the_same_in_both_languages(tmp_path):
    code = f"const main = () => [{', '.join(f'{name}.settings' for name in JS_CLASSES.values())}];"
    assert run_node(tmp_path, SCRIPTS, code) == [
        {name: list(values) for name, values in SETTINGS[kind].items()} for kind in JS_CLASSES
    ]


def test_slopes_of_heads_are_those_of_python(tmp_path):
    code = "const main = () => [...Array(24).keys()].map((i) => [...alibiSlopes(i + 1)]);"
    for heads, answer in enumerate(run_node(tmp_path, SCRIPTS, code), 1):
        assert answer == torch.tensor(alibi_slopes(heads)).double().tolist()


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
    code = (
        "const main = () => [LIVE.models[0].title, LIVE.models[0].seen, new WordTokenizer(LIVE.tokenizers[0]).tokens];"
    )
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    assert run_node(tmp_path, SCRIPTS, script + code) == ["</script>", '"', words]


def odd_strings(words) -> list[str]:
    """A thousand strings of words, white space of both languages, special tokens, marks and rare characters."""
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
      const tokenizer = new WordTokenizer(JSON.parse(text));
      return strings.map((one) => {
        try { return tokenizer.encode(one); } catch (error) { return null; }
      });
    });"""
    tokenizers, strings = [plain, lowered, ended, closed], odd_strings(" ".join(texts).split())
    given = [[one.backend_tokenizer.to_str() for one in tokenizers], strings]
    for tokenizer, answers in zip(tokenizers, run_node(tmp_path, SCRIPTS, code, given), strict=True):
        for text, answer in zip(strings, answers, strict=True):
            try:
                wanted = tokenizer(text).input_ids
            except UnknownWordError:
                wanted = None
            assert answer == wanted, ascii(text)


READING = """
const KINDS = { lecture_ngram: NGram, lecture_recurrent: LSTM, lecture_self_attention: SelfAttention };
const readers = () => LIVE.models.map(({ config, tensors, tokenizer }) => {
  const model = new KINDS[config.model_type](readSafetensors(fromBase64(tensors)), config);
  return new TextReader(model, new WordTokenizer(LIVE.tokenizers[tokenizer]));
});
"""


def test_a_changed_text_is_read_from_where_it_changed(tmp_path, live_models):
    """As often as words are new; what is said of a text does not depend on those before."""
    code = (
        READING
        + """
    const said = (reader) => [reader.pieces, [...reader.logProbs].map(Math.exp), reader.perplexity];
    const main = (texts) => readers().map((reader, i) => {
      let calls = 0;
      const next = reader.model.next.bind(reader.model);
      reader.model.next = (...given) => { calls++; return next(...given); };
      const answers = texts.map((text) => { reader.read(text.split(" ").filter(Boolean)); return said(reader); });
      const fresh = readers()[i];
      fresh.read(texts.at(-1).split(" "));
      return { calls, answers, fresh: said(fresh) };
    });"""
    )
    texts = ["", "the", "the cat", "the cat saw", "the zebra saw", "the zebra", "the old cat ran"]
    for answer, one in zip(
        run_node(tmp_path, SCRIPTS, weights_script(live_models) + code, texts), live_models, strict=True
    ):
        assert answer["calls"] == 1 + 1 + 1 + 1 + 2 + 0 + 3  # <s>, then the words that are new
        assert answer["answers"][-1] == answer["fresh"]
        pieces, probs, perplexity = answer["answers"][4]
        assert [piece["known"] for piece in pieces] == [True, False, True]
        assert sum(probs) == pytest.approx(1)
        (right,) = expected(in_double(one.model), one.tokenizer, ["the zebra saw"])
        ids = one.tokenizer("the zebra saw").input_ids
        bits = [-float(right["logProbs"][t, ids[t + 1]]) / math.log(2) for t in range(3)]
        assert [piece["bits"] for piece in pieces] == pytest.approx(bits)
        assert perplexity == pytest.approx(2 ** (sum(bits) / 3))


TYPED = {
    "": ([], ""),
    "the cat ": (["the", "cat"], ""),
    "the ca": (["the"], "ca"),
    "the cat, the": (["the", "cat", ","], "the"),
    "the king's": (["the", "king"], "'s"),
    "The CAT, ": (["the", "cat", ","], ""),
    "cat;": (["cat;"], ""),
    "(the cat)": (["(", "the", "cat", ")"], ""),
    "the king’s ": (["the", "king", "'s"], ""),
    "the “cat” ": (["the", "“cat”"], ""),
    "the <unk> cat.": (["the", "<unk>", "cat", "."], ""),
    "the\x85ca": (["the"], "ca"),
    "the \ufeffca": (["the"], "\ufeffca"),
    "a " * 7: (["a"] * 5, ""),
}


def test_what_is_typed_becomes_words_of_the_training_text(tmp_path):
    tokenizer = WordTokenizer.train(["the cat , a king 's ( old ) house ."], progress=False)
    code = (
        "const main = ([json, texts]) => texts.map((one) => typedWords(one, new WordTokenizer(JSON.parse(json)), 5));"
    )
    answers = run_node(tmp_path, SCRIPTS, code, [tokenizer.backend_tokenizer.to_str(), list(TYPED)])
    for (text, (words, prefix)), answer in zip(TYPED.items(), answers, strict=True):
        assert (answer["words"], answer["prefix"]) == (words, prefix), text
    assert [answer["left"] for answer in answers] == [0] * 13 + [2]


def test_words_are_drawn_as_often_as_the_temperature_says(tmp_path, live_models):
    code = (
        READING
        + """
    const main = () => readers().map((reader) => {
      reader.read(["the", "old"]);
      const draw = (seed, more) => reader.write({ number: 1, prefix: "", temperature: 2, seed, ...more });
      const long = { number: 10, temperature: 1 };
      return {
        probs: [...reader.logProbs].map(Math.exp), best: reader.best(3, ""), begun: reader.best(9, "m"),
        drawn: [...Array(4000).keys()].flatMap((seed) => draw(seed)), cold: draw(5, { temperature: 0.01 }),
        prefixed: draw(1, { prefix: "mou" }), none: draw(1, { prefix: "x" }), again: [draw(7, long), draw(7, long)],
        tokens: reader.tokenizer.tokens,
      };
    });"""
    )
    for answer in run_node(tmp_path, SCRIPTS, weights_script(live_models) + code):
        tokens, probs = answer["tokens"], np.array(answer["probs"])
        order = np.argsort(-probs, kind="stable").tolist()
        assert answer["best"]["ids"] == order[:3]
        mouse = tokens.index("mouse")
        assert answer["begun"] == {"ids": [mouse], "share": probs[mouse]}
        may = np.array([token not in ("<s>", "<unk>", "<pad>") for token in tokens])
        assert answer["cold"] == [next(w for w in order if may[w])]
        shares = np.sqrt(probs) * may
        shares /= shares.sum()
        found = np.bincount(answer["drawn"], minlength=len(tokens)) / 4000
        assert (np.abs(found - shares) <= 5 * np.sqrt(shares * (1 - shares) / 4000)).all()
        assert answer["prefixed"] == [mouse]
        assert answer["none"] == []
        assert answer["again"][0] == answer["again"][1]
        assert 1 <= len(answer["again"][0]) <= 10


def test_each_number_of_sixteen_bits_is_read(tmp_path):
    codes = np.arange(2**16, dtype=np.uint16)
    code = "const main = (codes) => [...fromHalves(Uint16Array.from(codes))].map(String);"
    ours = np.array(run_node(tmp_path, SCRIPTS, code, codes.tolist()), dtype=float)
    np.testing.assert_array_equal(ours, codes.view(np.float16).astype(float))


@pytest.fixture(scope="module")
def page(tmp_path_factory, live_models):
    """The page with two models that run, one that is refused, and one that cannot read all words."""
    gru = RecurrentForCausalLM(
        RecurrentConfig(vocab_size=len(live_models[0].tokenizer), hidden_size=4, cell_type="gru")
    )
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    strict = NGramForCausalLM.fit(TEXTS, closed, order=2, smoothing="add_alpha", progress=False)
    models = [
        *live_models[1:],
        LiveModel("GRU", "", gru, live_models[0].tokenizer),
        LiveModel("Bigram", "four sentences", strict, closed),
    ]
    script = weights_script(models, examples=["the old cat ", "the zebra saw ", "a mo"], about="Four sentences.")
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(standalone_page(PAGES["next_word"], script), encoding="utf-8")
    return file


@pytest.mark.slow
def test_a_model_that_does_not_run_leaves_the_others(browser, page):
    with opened(browser, page) as view:
        cards = view.locator(".live-card")
        reason = 'lecture_recurrent with cell_type = "gru" does not run here; "lstm" does.'
        assert cards.nth(2).inner_text() == f"GRU\n\nNot computed: {reason}"
        assert "Next word" in cards.nth(3).inner_text()
        view.get_by_role("button", name="the zebra saw").click()
        assert "The model cannot read this text: “zebra” is not in the vocabulary" in cards.nth(3).inner_text()
        assert "? " in cards.nth(0).inner_text()
        assert view.locator(".live-unknown", has_text="zebra").count() == 2
        view.get_by_role("button", name="a mo").click()
        assert "Words with “mo”" in cards.nth(0).inner_text()
        assert cards.nth(3).locator(".live-bar:visible").all_inner_texts() == ["mouse\n100 %"]
        view.get_by_label("Your text").fill("the cat " * 150)
        assert "Only the first 200 words are read; the last 100 are left out." in cards.nth(0).inner_text()


@pytest.mark.slow
def test_the_page_works_by_keyboard_alone(browser, page):
    with opened(browser, page, width=390) as view:
        text, first = view.get_by_label("Your text"), view.locator(".live-card").first
        view.keyboard.press("Tab")
        view.keyboard.press("End")
        view.keyboard.type("ran ")
        assert text.input_value() == "the old cat ran "
        assert first.locator(".next-word-piece").count() == 4
        tab_to(view, "a mo")
        view.keyboard.press("Enter")
        assert text.input_value() == "a mo"
        tab_to(view, "mouse")
        view.keyboard.press("Enter")
        assert text.input_value() == "a mouse "
        focused = "document.activeElement.className"
        assert view.evaluate(focused) == "live-bar", "the bar keeps the focus"
        tab_to(view, "Write 10 words with LSTM")
        view.keyboard.press("Enter")
        written = first.locator(".next-word-written").inner_text().removeprefix("… ")
        view.keyboard.press("Tab")
        view.keyboard.press("Enter")
        assert text.input_value() == f"a mouse {written.removesuffix('(end)').rstrip()} "
        assert focused_name(view) == "Write 10 words with LSTM"
        view.keyboard.press("Enter")
        before = first.locator(".next-word-written").inner_text()
        for name, key in (("Temperature", "Home"), ("Seed", "ArrowUp")):  # the lowest temperature, the next seed
            tab_to(view, name)
            view.keyboard.press(key)
            after = first.locator(".next-word-written").inner_text()
            assert after != before, name
            before = after
        tab_to(view, "Head")
        map_before = view.locator(".next-word-map").inner_text()
        view.keyboard.press("ArrowDown")
        assert view.locator(".next-word-map").inner_text() != map_before
        assert view.evaluate("document.activeElement.tagName") == "SELECT"


@pytest.mark.slow
def test_another_text_is_loaded_on_demand_and_the_reader_s_words_stay(browser, tmp_path, live_models):
    (tmp_path / "weights").mkdir()
    texts = [{"title": title, "file": f"{title}.js"} for title in ("one", "two")]
    for title, models in (("one", live_models), ("two", live_models[:1])):
        extra = {"texts": texts, "file": f"{title}.js", "examples": ["the old cat "], "about": f"Text {title}."}
        (tmp_path / "weights" / f"{title}.js").write_text(weights_script(models, **extra), encoding="utf-8")
    page = standalone_page(PAGES["next_word"], "")
    before, place, after = page.rpartition("<script>\n")
    file = tmp_path / "page.html"
    file.write_text(f'{before}<script src="./weights/one.js"></script>{place}{after}', encoding="utf-8")
    with opened(browser, file) as view:
        view.get_by_label("Your text").fill("a mouse ran")
        for title, cards in (("two", 1), ("one", 3)):
            view.get_by_label("The models have read").select_option(f"{title}.js")
            view.get_by_text(f"Text {title}.").wait_for()
            assert view.locator(".next-word-card").count() == cards
            assert view.get_by_label("Your text").input_value() == "a mouse ran"
            assert view.evaluate("document.activeElement.value") == f"{title}.js"
