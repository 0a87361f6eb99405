# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The n-gram as a transformers model: the checks of all models, padding and holes, precision, damaged files."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch._dynamo.exc import TorchDynamoException
from torch.testing import assert_close
from transformers import AutoModelForCausalLM, DataCollatorForLanguageModeling, Trainer, TrainingArguments

from hf_lecture_models.layers.ngram_search import FEW, binary_search, find
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.gpt1 import Gpt1ForCausalLM
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.estimation_ngram import config_for
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.self_attention import SelfAttentionForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.model_tests import CausalLMTests, perturb
from tests.models.ngram.kenlm_ngram import ngrams, probing_file
from tests.models.ngram.reference_ngram import ReferenceNGram

TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the cat",
    "the dog ran to the tree and the cat ran to the dog",
    "a bird sat in a tree",
    "a bird sang",
    "the bird sang in the tree and the cat sat on the mat",
] * 2
TOKENIZER = WordTokenizer.train(TEXTS, progress=False)

# These texts are too few to estimate discounts from.
pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")


class NGramTests(CausalLMTests):
    model_class = NGramForCausalLM
    trainable = False
    order = 3
    smoothing = "kneser_ney"
    alpha = 1.0
    contradictory_configs = (
        {"prune": [0, 2, 1]},
        {"table_sizes": [3, 0, 0]},
        {"order": 65},
        {"vocab_size": 2, "bos_token_id": 0, "eos_token_id": None, "pad_token_id": 1},
    )

    def test_what_jit_trace_records_holds_for_other_padding(self):
        """It is refused: how often a table is looked up depends on the text."""
        with pytest.raises(ValueError, match=r"torch\.jit\.trace cannot record an n-gram model.*hf-lecture convert"):
            super().test_what_jit_trace_records_holds_for_other_padding()

    @pytest.mark.slow
    @pytest.mark.xfail(
        strict=True, raises=TorchDynamoException, reason="how many n-grams are found is the data's to say"
    )
    def test_compiles_in_one_piece(self):
        super().test_compiles_in_one_piece()

    @pytest.mark.xfail(strict=True, reason="tables of n-grams have no states")
    def test_hidden_states_on_request(self):
        super().test_hidden_states_on_request()

    def test_generate_with_guidance(self, negative=False, use_cache=True):
        with pytest.raises(ValueError, match="no guidance_scale: .* of probability 0"):
            self.generate(self.build(), self.prompts(), guidance_scale=1.5)
        assert self.generate(self.build(), self.prompts(), guidance_scale=1.0).shape == (3, 11)

    @property
    def context_length(self):
        return self.order - 1

    def config(self):
        return config_for(TOKENIZER, order=self.order, smoothing=self.smoothing, alpha=self.alpha)

    def fit(self):
        options = {"order": self.order, "smoothing": self.smoothing, "alpha": self.alpha, "progress": False}
        model = NGramForCausalLM.fit(TEXTS, TOKENIZER, **options)
        inputs = TOKENIZER([f"{text} </s>" for text in TEXTS], padding=True, padding_side="right", return_tensors="pt")
        return model, {name: inputs[name] for name in ("input_ids", "attention_mask")}

    def processing_class(self):
        return TOKENIZER

    def reference(self, model, inputs):
        texts = [TOKENIZER(text, add_special_tokens=False).input_ids for text in TEXTS]
        marks = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id
        events = set(range(len(TOKENIZER))) - {TOKENIZER.bos_token_id, TOKENIZER.pad_token_id}
        reference = ReferenceNGram(texts, self.order, self.smoothing, events, *marks, alpha=self.alpha)
        rows = [
            [[reference.prob(w, row[: t + 1]) for w in range(len(TOKENIZER))] for t in range(len(row))]
            for row in inputs["input_ids"].tolist()
        ]
        return {"logits": torch.tensor(rows).log()}


class TestTrigram(NGramTests):
    pass


class TestFiveGram(NGramTests):
    order, smoothing = 5, "absolute_discounting"


class TestAddAlphaBigram(NGramTests):
    order, smoothing, alpha = 2, "add_alpha", 0.01


class TestHashedTrigram(NGramTests):
    """The same trigram, as KenLM's "probing" files have it."""

    contradictory_configs = ({"num_classes": 5}, {"table_sizes": [3, 0, 0]})

    def config(self):
        return config_for(TOKENIZER, order=self.order, smoothing=None, hashed=True)

    def fit(self):
        fitted, inputs = super().fit()
        grams = {
            gram: (max(p, -99), backoff)
            for gram, (p, backoff) in ngrams(fitted, TOKENIZER).items()
            if gram != ("<pad>",)
        }
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "lm.bin").write_bytes(probing_file(grams))
            model, tokenizer = NGramForCausalLM.from_kenlm(Path(folder, "lm.bin"))
        assert tokenizer.get_vocab() == TOKENIZER.get_vocab()
        return model, inputs

    def reference(self, model, inputs):
        return {"logits": super().fit()[0](**inputs).logits}


@pytest.fixture(scope="module")
def model():
    return TestTrigram().fit()[0]


def encode(*texts, side="right"):
    inputs = TOKENIZER(list(texts), padding=True, padding_side=side, return_tensors="pt")
    return inputs["input_ids"], inputs["attention_mask"]


@pytest.mark.parametrize("asked", [FEW - 3, 5000], ids=["few", "sorted"])
def test_find_is_the_same_sorted_or_not(asked):
    rng = np.random.default_rng(0)
    keys = torch.from_numpy(np.cumsum(rng.integers(1, 4, 3000)) + 3)
    last = int(keys[-1])
    queries = torch.from_numpy(np.concatenate([rng.integers(0, last + 5, asked - 3), [0, int(keys[0]), last]]))
    found = find(keys, queries)
    assert torch.equal(found, binary_search(keys, queries))  # the path of other devices
    index = {key: place for place, key in enumerate(keys.tolist())}
    assert found.tolist() == [index.get(query, -1) for query in queries.tolist()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace")
def test_a_compiled_model_gives_the_same():
    model = NGramForCausalLM.fit(TEXTS, TOKENIZER, order=3, smoothing="kneser_ney", progress=False)
    ids = TOKENIZER(TEXTS[:3], padding=True, return_tensors="pt").input_ids
    assert_close(torch.compile(model, backend="eager")(ids).logits, model(ids).logits)
    assert_close(torch.compile(model.score, backend="eager")(ids), model.score(ids))


def test_an_unfitted_model_is_uniform_over_the_events():
    config = NGramConfig(vocab_size=10, order=4, bos_token_id=7, eos_token_id=8, pad_token_id=9)
    model = NGramForCausalLM(config)
    probs = model(torch.tensor([[7, 1, 2, 3]])).logits.exp()
    assert probs[0, :, [7, 9]].eq(0).all()
    assert_close(probs[0, :, :7], torch.full((4, 7), 1 / 8))
    assert_close(model.score(torch.tensor([[7, 1, 2, 8]]))[0], torch.tensor([0, *[-math.log(8)] * 3]))
    assert NGramForCausalLM(NGramConfig()).score(torch.tensor([[1, 2]]))[0, 1].exp().item() == pytest.approx(1e-3)


@pytest.mark.parametrize("bits", [None, 16])
def test_an_unfitted_model_of_given_sizes_is_uniform_too(bits):
    config = NGramConfig(vocab_size=5, order=3, table_sizes=[5, 7, 9], bos_token_id=3, quantisation_bits=bits)
    logits = NGramForCausalLM(config)(torch.tensor([[3, 0, 1, 2, 0, 0]])).logits
    assert_close(logits[0, :, [0, 1, 2, 4]].exp(), torch.full((6, 4), 1 / 4))


def test_holes_in_the_mask_are_skipped(model):
    ids, _ = encode("the cat sat on the mat")
    with_holes = torch.tensor([[0, *ids[0, :3], 5, 6, *ids[0, 3:], 2]])
    mask = torch.tensor([[0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0]])
    real = mask[0].bool()
    logits, expected = model(with_holes, attention_mask=mask).logits, model(ids).logits
    assert torch.equal(logits[0, real], expected[0])
    assert torch.equal(logits[0, 4], expected[0, 2])  # at a hole, the prediction stays
    assert torch.equal(model.score(with_holes, mask)[0, real], model.score(ids)[0])
    assert model.score(with_holes, mask)[0, ~real].eq(0).all()


def test_shifted_labels(model):
    ids, _ = encode("the cat sat on the mat")
    labels = torch.tensor([[1, -100, 2, -100, -100, -100, 3]])
    loss = model(ids, shift_labels=labels, logits_to_keep=2).loss
    assert_close(loss, -model(ids).logits[0, [0, 2, 6], [1, 2, 3]].mean())


def test_logits_to_keep_by_mask_and_row(model):
    ids, _ = encode("the cat sat on", "a bird sang in")
    whole = model(ids).logits
    rows = torch.tensor([[0, 2], [1, 4]])
    assert torch.equal(model(ids, logits_to_keep=rows).logits, torch.stack((whole[0, [0, 2]], whole[1, [1, 4]])))
    assert torch.equal(model(ids, logits_to_keep=ids == ids[0, 1]).logits, whole[ids == ids[0, 1]])


def test_a_stream_of_texts_starts_anew_at_each(model):
    one, two = (encode(f"{text} </s>")[0] for text in ("the cat sat", "a bird sang"))
    both = model.score(torch.cat((one, two), 1))[0]
    assert_close(both, torch.cat((model.score(one)[0], model.score(two)[0])))
    assert both[one.shape[1]] == 0  # <s>, wherever it stands


@pytest.mark.parametrize("model_class", [Gpt1ForCausalLM, SelfAttentionForCausalLM])
def test_it_proposes_words_to_a_transformer(model, model_class):
    """As the assistant of another model it changes nothing of what that generates."""
    special = {f"{name}_token_id": getattr(TOKENIZER, f"{name}_token_id") for name in ("bos", "pad")}
    fields = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": len(TOKENIZER)}
    transformer = model_class(model_class.config_class(**fields, **special)).eval()
    perturb(transformer, 0.5)
    ids, _ = encode("the cat sat on")
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": TOKENIZER.pad_token_id}
    assisted = transformer.generate(ids, assistant_model=model, **options)
    assert torch.equal(assisted, transformer.generate(ids, **options))


def test_evaluated_by_the_trainer_of_transformers(model, tmp_path):
    """Metrics get the log-probabilities, as of any language model."""
    tokenizer, rows, seen = (
        copy.deepcopy(TOKENIZER),
        [{"input_ids": encode(text)[0][0].tolist()} for text in TEXTS[:5]],
        [],
    )
    tokenizer.padding_side = "right"  # behind padding, `<s>` would be among the items

    def metrics(prediction):
        seen.append(prediction)
        return {"highest": prediction.predictions.max()}

    trainer = Trainer(
        model,
        TrainingArguments(output_dir=str(tmp_path), report_to="none", use_cpu=True, disable_tqdm=True),
        eval_dataset=rows,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        compute_metrics=metrics,
    )
    found = trainer.evaluate()
    scores = sum(model.score(torch.tensor([row["input_ids"]])).sum() for row in rows)
    assert found["eval_loss"] == pytest.approx(
        -scores.item() / sum(len(row["input_ids"]) - 1 for row in rows), rel=1e-5
    )
    assert seen[0].predictions.shape == (*seen[0].label_ids.shape, len(TOKENIZER))
    assert found["eval_highest"] <= 0


def test_generation_keeps_the_context_it_needs_only(model):
    ids = torch.arange(1, 11)[None].repeat(2, 1)
    inputs = model.prepare_inputs_for_generation(ids, attention_mask=torch.ones_like(ids))
    assert inputs["input_ids"].tolist() == [[9, 10]] * 2
    mask = torch.ones_like(ids)
    mask[1, 6:9] = 0  # row 1's last two real words are columns 5 and 9
    inputs = model.prepare_inputs_for_generation(ids, attention_mask=mask)
    assert inputs["input_ids"].shape[1] == inputs["attention_mask"].shape[1] == 5
    assert_close(model(**inputs).logits[:, -1], model(ids, attention_mask=mask).logits[:, -1])


@pytest.mark.parametrize("ids", [[[0, 99]], [[-1, 0]]])
def test_scores_of_ids_outside_the_vocabulary(model, ids):
    with pytest.raises(ValueError, match="the model has the tokens 0 to"):
        model.score(torch.tensor(ids))


def test_no_tokens_at_all(model):
    with pytest.raises(ValueError, match="at least one token per row"):
        model.score(torch.zeros(2, 0, dtype=torch.long))
    nothing = model(torch.zeros(1, 3, dtype=torch.long), attention_mask=torch.zeros(1, 3))
    assert_close(nothing.logits.exp().sum(-1), torch.ones(1, 3))
    assert model(torch.tensor([[1, 2]]), labels=torch.tensor([[-100, -100]])).loss == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tables_stay_float32_however_a_model_is_built(model, dtype, tmp_path):
    ids, _ = encode("the cat sat on the mat")
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        by_default = NGramForCausalLM.from_pretrained(tmp_path)
    finally:
        torch.set_default_dtype(previous)
    for other in (NGramForCausalLM.from_pretrained(tmp_path, dtype=dtype), by_default, loaded.to(dtype)):
        assert {buffer.dtype for buffer in other.buffers()} == {torch.float32, torch.int64}
        assert other.dtype == torch.float32
        assert torch.equal(other.score(ids), model.score(ids))
    unfitted = AutoModelForCausalLM.from_config(NGramConfig(vocab_size=4, order=2), dtype=dtype)
    assert unfitted.score(torch.tensor([[0, 1]])).dtype == torch.float32


def test_other_devices(model):
    elsewhere = NGramForCausalLM(model.config).to("meta")
    assert elsewhere.device.type == "meta"
    assert all(buffer.is_meta for buffer in elsewhere.buffers())
    assert elsewhere.to_empty(device="cpu").device.type == "cpu"
    if torch.cuda.is_available():
        ids, mask = encode("the cat sat on the mat", "a zebra sang </s>", side="left")
        moved = AutoModelForCausalLM.from_config(model.config).to("cuda")
        moved.load_state_dict(model.state_dict())
        assert_close(moved.score(ids.cuda(), mask.cuda()).cpu(), model.score(ids, mask))
        assert_close(moved(ids.cuda(), mask.cuda()).logits.cpu(), model(ids, mask).logits)


def test_tables_go_out_and_in(model):
    tables = model.tables()
    copy = NGramForCausalLM.from_tables(tables, TestTrigram().config())
    assert copy.config.table_sizes == tables.sizes == model.config.table_sizes
    assert all(torch.equal(a, b) for a, b in zip(copy.buffers(), model.buffers(), strict=True))
    with pytest.raises(ValueError, match="order 3 over .* do not fit a configuration of order 2"):
        NGramForCausalLM.from_tables(tables, NGramConfig(vocab_size=len(TOKENIZER), order=2))


DAMAGE = {
    "unsorted keys": ("trie.keys_2", lambda t: t.flip(0), "2-gram table: the keys are too few, unsorted"),
    "a key twice": ("trie.keys_3", lambda t: t[t.clone().fill_(0)], "3-gram table: the keys are too few, unsorted"),
    "prefix out of range": ("trie.keys_3", lambda t: t + 10**9, "3-gram table: a key names a prefix"),
    "negative key": ("trie.keys_3", lambda t: t - 10**9, "3-gram table: a key names a prefix"),
    "NaN": ("trie.log10_probs_2", lambda t: t * math.nan, "2-gram table: a log-probability is positive or NaN"),
    "p > 1": ("trie.log10_probs_1", lambda t: t.abs(), "1-gram table: a log-probability is positive or NaN"),
    "infinite weight": ("trie.log10_backoffs_2", lambda t: t + math.inf, "2-gram table: a back-off weight"),
    "NaN weight": ("trie.log10_backoffs_1", lambda t: t * math.nan, "1-gram table: a back-off weight"),
}


@pytest.mark.parametrize(("name", "damage", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_checkpoints_are_refused(model, tmp_path, name, damage, message):
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors[name] = damage(tensors[name]).contiguous()
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=message) as caught:
        AutoModelForCausalLM.from_pretrained(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_tables_of_wrong_lengths_and_types_are_refused():
    keys, probs, backoffs = np.array([1]), [np.full(3, -1, np.float32), np.full(1, -1, np.float32)], np.zeros(3)
    for size, key, weights, message in [
        (4, keys, backoffs.astype(np.float32), "3 rows for a vocabulary of 4"),
        (3, np.array([1, 2]), backoffs.astype(np.float32), "2-gram table: the keys are too few"),
        (3, keys.astype(np.float32), backoffs.astype(np.float32), "2-gram table: the keys are not all int64"),
        (3, keys, backoffs[:2].astype(np.float32), "1-gram table: a back-off weight is missing"),
        (3, keys, backoffs, "1-gram table: .* not float32"),
    ]:
        with pytest.raises(ValueError, match=message):
            NGramTables(size, [key], probs, [weights]).check()
    with pytest.raises(ValueError, match="1-gram table: .* not float32"):
        NGramTables(3, [keys], [probs[0].astype(float), probs[1]], [backoffs]).check()


def test_without_the_package_the_readers_say_so(monkeypatch):
    spec = importlib.util.spec_from_file_location("ngram_elsewhere", inspect.getsourcefile(NGramForCausalLM))
    elsewhere = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ngram_elsewhere", elsewhere)  # transformers looks the annotations up there
    spec.loader.exec_module(elsewhere)
    for name, arguments in (
        ("fit", (TEXTS, TOKENIZER)),
        ("from_arpa", ("lm.arpa",)),
        ("from_kenlm", ("lm.bin",)),
        ("save_arpa", ("lm.arpa", TOKENIZER)),
        ("save_kenlm", ("lm.bin", TOKENIZER)),
    ):
        cls = elsewhere.NGramForCausalLM
        with pytest.raises(RuntimeError, match=rf"{name} needs the package: `pip install hf-lecture-models`"):
            getattr(cls(NGramConfig()) if name.startswith("save") else cls, name)(*arguments)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"discounts": [[0.5]]}, "discounts: 2 entries"),
        ({"discounts": [[float("nan")], [0.5]]}, "discounts: 2 entries"),
        ({"discount_ratios": [[0.5]]}, "discount_ratios: 2 entries"),
        ({"interpolation_weights": [0.5, -1.0]}, "interpolation_weights: 2 entries within 0 and 1"),
        ({"table_sizes": [2**20, 2**40], "vocab_size": 2**20}, "more than"),
        ({"table_sizes": [2**31 - 1, 2**33, 10], "vocab_size": 2**31 - 1, "order": 3}, "table_sizes: there cannot be"),
        ({"katz_k": 0}, "katz_k is 0; it must be at least 1"),
        ({"katz_k": 10**6}, "katz_k is 1000000; at most 10000"),
        ({"backoff_factor": 0.0}, "backoff_factor is 0.0; it must be above 0 and at most 1"),
        ({"backoff_factor": 1.5}, "backoff_factor is 1.5"),
        ({"backoff_factor": math.nan}, "backoff_factor is nan"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        NGramConfig(**{"order": 2} | fields)


def test_tables_are_not_quantised(tmp_path):
    NGramForCausalLM(NGramConfig(vocab_size=4, order=2)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="NGramForCausalLM has tables, and no weights to quantise; leave"):
        NGramForCausalLM.from_pretrained(tmp_path, quantization_config={"quant_method": "torchao"})
