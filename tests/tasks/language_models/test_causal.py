# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
import json
import shutil
from collections import Counter

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BertConfig, BertForMaskedLM, BertLMHeadModel, GPT2Config

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM
from hf_lecture_models.tasks.language_models import causal as language_model
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe, make_batches, train_causal_lm
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.tasks.task_tests import contents

TEXTS = ["the cat sits", "", "a dog runs to the cat", "the dog sits", "a cat runs", "the cat runs to a dog"] * 3
HELD_OUT = ["the dog runs to a cat", "a cat sits"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(TEXTS, progress=False)


def model_for(tokenizer, seed=0, **fields):
    torch.manual_seed(seed)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    fields = {"hidden_size": 12, "dropout": 0.1} | ids | fields
    return RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), **fields))


def recipe(**fields):
    return CausalLMRecipe(**{"epochs": 3, "batch_size": 4, "sequence_length": 6, "learning_rate": 0.02} | fields)


def run(folder, tokenizer, texts=TEXTS, seed=0, resume=False, **fields):
    model = model_for(tokenizer, seed)
    return train_causal_lm(
        model, tokenizer, texts, HELD_OUT, folder, recipe(**fields), resume=resume, quiet=True
    ), model


@pytest.mark.parametrize("layout", ["stream", "blocks", "texts"])
def test_each_layout_learns_and_the_folder_is_the_best_model(tmp_path, tokenizer, layout):
    before = evaluate_language_model(model_for(tokenizer).eval(), tokenizer, HELD_OUT, stream=layout != "texts")
    result, _ = run(tmp_path, tokenizer, layout=layout, epochs=6)
    assert result.best_metric < 0.85 * before["perplexity"]
    model, loaded = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    after = evaluate_language_model(model, loaded, HELD_OUT, stream=layout != "texts")
    assert after["perplexity"] == pytest.approx(result.best_metric, rel=1e-5)
    words = sum(len(text.split()) + 1 for text in TEXTS)
    assert result.items == 6 * words
    assert json.loads((tmp_path / "training.json").read_text())["tokens_per_second"] > 0


@pytest.mark.parametrize("layout", ["blocks", "texts"])
def test_other_layouts_resume_to_the_same_bits(tmp_path, tokenizer, layout):
    fields = {"layout": layout, "accumulation_steps": 2, "save_every": 4}
    _, expected = run(tmp_path / "straight", tokenizer, **fields)
    shutil.copytree(tmp_path / "straight", tmp_path / "cut")
    newest = max((tmp_path / "cut" / "checkpoints").iterdir())
    (newest / "complete.json").unlink()
    with pytest.warns(UserWarning, match=r"complete.json is missing"):
        _, model = run(tmp_path / "cut", tokenizer, seed=5, resume=True, **fields)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), expected.parameters(), strict=True))


def test_accumulated_streams_train_as_one_batch(tmp_path, tokenizer):
    losses = []
    for parts in (1, 4):
        model = model_for(tokenizer, dropout=0.0)
        chosen = recipe(layout="stream", accumulation_steps=parts, log_every=1)
        result = train_causal_lm(model, tokenizer, TEXTS, None, tmp_path / str(parts), chosen, quiet=True)
        losses.append([row["loss"] for row in result.history])
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_no_text_and_a_foreign_tokenizer_are_refused(tmp_path, tokenizer):
    with pytest.raises(ValueError, match="no text to train on"):
        run(tmp_path, tokenizer, texts=[])
    with pytest.raises(ValueError, match="validation_texts is empty"):
        train_causal_lm(model_for(tokenizer), tokenizer, TEXTS, [], tmp_path, recipe())
    larger = WordTokenizer.train(["many more words than the model was ever made for, and some others", *TEXTS])
    with pytest.raises(ValueError, match="vocab_size"):
        train_causal_lm(model_for(tokenizer), larger, TEXTS, None, tmp_path, recipe())


def test_words_that_a_closed_vocabulary_lacks_stop_the_run(tmp_path):
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    with pytest.raises(FloatingPointError, match=r"no unknown token\) and lacks 2 words"):
        train_causal_lm(model_for(closed), closed, TEXTS, ["a zebra sits", "the owl"], tmp_path, recipe(), quiet=True)
    assert not (tmp_path / "model.safetensors").exists()


def gpt2_for(tokenizer):
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 8}
    return AutoModelForCausalLM.from_config(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))


@pytest.mark.parametrize("layout", ["blocks", "texts"])
def test_a_model_of_transformers_itself_learns(tmp_path, tokenizer, layout):
    chosen = recipe(layout=layout)
    result = train_causal_lm(gpt2_for(tokenizer), tokenizer, TEXTS, HELD_OUT, tmp_path, chosen, quiet=True)
    assert result.best_metric < 0.7 * len(tokenizer)


def test_what_a_model_of_transformers_cannot_do_is_said(tmp_path, tokenizer):
    for fields, message in (
        ({"layout": "stream"}, "layout stream needs a recurrent state in past_key_values"),
        ({"sequence_length": 9}, "sequence_length 9 is more than the model's longest input, 8 tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            train_causal_lm(gpt2_for(tokenizer), tokenizer, TEXTS, None, tmp_path, recipe(**fields), quiet=True)


def test_the_effective_batch_counts_tokens():
    assert recipe(layout="stream").effective_batch() == "4 rows x 6 = 24 tokens"
    assert recipe(layout="texts").effective_batch() == "4 rows x 6 = at most 24 tokens"


@pytest.fixture
def streamed(tmp_path):
    pytest.importorskip("datasets")
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return {"train_files": [str(path)], "streaming": True, "max_steps": 14, "batch_size": 2}


def test_a_streamed_set_gives_the_blocks_of_the_whole_one(tokenizer, streamed):
    chosen = recipe(**streamed)
    batches = make_batches(tokenizer, CausalLM().read(chosen, "train"), chosen)
    steps = [batches.next_step()[0].inputs for _ in range(4)]
    inputs = torch.cat([step["input_ids"].flatten() for step in steps])
    labels = torch.cat([step["shift_labels"].flatten() for step in steps])
    first = [tokenizer.bos_token_id, *tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]]
    assert inputs[: len(first)].tolist() == first
    real = labels[:-1] != -100
    assert torch.equal(labels[:-1][real], inputs[1:][real])
    assert not (labels == tokenizer.bos_token_id).any()


def test_a_streamed_run_resumes_to_the_same_bits(tmp_path, tokenizer, streamed):
    fields = {**streamed, "save_every": 5}

    def start(name, seed=0, resume=False):
        return run(tmp_path / name, tokenizer, CausalLM().read(recipe(**fields), "train"), seed, resume, **fields)[1]

    expected = start("straight")
    shutil.copytree(tmp_path / "straight", tmp_path / "cut")
    (max((tmp_path / "cut" / "checkpoints").iterdir()) / "state.json").unlink()
    with pytest.warns(UserWarning, match="passed over"):
        model = start("cut", seed=5, resume=True)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), expected.parameters(), strict=True))


def test_a_streamed_run_is_not_resumed_on_other_data(tmp_path, tokenizer, streamed):
    def start(tokenizer=tokenizer, validation_texts=HELD_OUT, **fields):
        chosen = recipe(**streamed | fields)
        texts, model = CausalLM().read(chosen, "train"), model_for(tokenizer)
        folder, resume = tmp_path / "run", (tmp_path / "run").exists()
        train_causal_lm(model, tokenizer, texts, validation_texts, folder, chosen, resume=resume, quiet=True)

    start()
    before = contents(tmp_path / "run")
    with pytest.raises(ValueError, match="cannot resume: the tokenizer changed"):
        start(WordTokenizer.train(["sits runs " * 50, *TEXTS], progress=False))
    with pytest.raises(ValueError, match="cannot resume: the validation data changed"):
        start(validation_texts=HELD_OUT[:1])
    path = tmp_path / "a.txt"
    text = path.read_text()
    path.write_text(text[:-3] + "cat")  # of the same size, in the last line
    with pytest.raises(ValueError, match="cannot resume: the training data changed"):
        start()
    path.write_text(text)
    assert contents(tmp_path / "run") == before
    start()


def test_a_streamed_set_of_ones_own_is_known_by_its_first_texts(tmp_path, tokenizer, streamed):
    datasets = pytest.importorskip("datasets")
    chosen = recipe(**streamed | {"train_files": []})

    def start(texts, **options):
        data = datasets.Dataset.from_dict({"text": texts}).to_iterable_dataset()
        train_causal_lm(model_for(tokenizer), tokenizer, data, None, tmp_path, chosen, quiet=True, **options)

    start(TEXTS)
    start(TEXTS, resume=True)
    with pytest.raises(ValueError, match="cannot resume: the training data changed"):
        start([*TEXTS[:-1], "the cat"], resume=True)


def test_a_shuffled_stream_starts_again_and_needs_max_steps(tmp_path, tokenizer, streamed):
    chosen = recipe(**streamed, shuffle_buffer=5)
    result, _ = run(tmp_path, tokenizer, CausalLM().read(chosen, "train"), **streamed, shuffle_buffer=5)
    assert result.step == 14
    with pytest.warns(UserWarning, match="up to 5 rows"):
        run(tmp_path, tokenizer, CausalLM().read(chosen, "train"), resume=True, **streamed, shuffle_buffer=5)
    with pytest.raises(ValueError, match="set max_steps"):
        run(tmp_path / "b", tokenizer, CausalLM().read(chosen, "train"), **{**streamed, "max_steps": 0})
    with pytest.raises(ValueError, match="layout blocks only"):
        run(tmp_path / "c", tokenizer, CausalLM().read(chosen, "train"), **streamed, layout="stream")


# Output layers that want token counts


@pytest.mark.parametrize(
    ("layout", "output_layer"),
    [
        ("stream", "noise_contrastive"),
        ("texts", "adaptive"),
        pytest.param("stream", "adaptive", marks=pytest.mark.slow),
        pytest.param("texts", "noise_contrastive", marks=pytest.mark.slow),
    ],
)
def test_targets_are_counted_before_the_first_step(tmp_path, tokenizer, output_layer, layout):
    model = model_for(tokenizer, output_layer=output_layer)
    result = train_causal_lm(model, tokenizer, TEXTS, HELD_OUT, tmp_path, recipe(layout=layout, epochs=6), quiet=True)
    targets = Counter(word for text in TEXTS for word in [*text.split(), "</s>"])
    counts = AutoModelForCausalLM.from_pretrained(tmp_path).lm_head.token_counts
    assert {tokenizer.convert_ids_to_tokens(i): n for i, n in enumerate(counts.tolist()) if n} == targets
    assert result.best_metric < 0.7 * len(tokenizer)
    assert result.best_metric == pytest.approx(
        evaluate_language_model(
            AutoModelForCausalLM.from_pretrained(tmp_path), tokenizer, HELD_OUT, stream=layout == "stream"
        )["perplexity"],
        rel=1e-5,
    )


@pytest.mark.parametrize("output_layer", ["adaptive", "noise_contrastive"])
def test_counts_and_noise_resume_to_the_same_bits(tmp_path, tokenizer, output_layer):
    chosen, models = recipe(layout="stream", save_every=4), {}
    for name, seed in (("straight", 0), ("cut", 5)):
        models[name] = model_for(tokenizer, seed, output_layer=output_layer)
        resume = name == "cut"
        if resume:
            shutil.copytree(tmp_path / "straight", tmp_path / "cut")
            shutil.rmtree(max((tmp_path / "cut" / "checkpoints").iterdir()))
        train_causal_lm(models[name], tokenizer, TEXTS, None, tmp_path / name, chosen, resume=resume, quiet=True)
    tensors = [models[name].state_dict() for name in ("straight", "cut")]
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])


def test_a_model_with_counts_keeps_them(tmp_path, tokenizer):
    model = model_for(tokenizer, output_layer="adaptive")
    counts = torch.arange(len(tokenizer))
    counts[tokenizer.pad_token_id] = 0
    model.set_token_counts(counts)
    train_causal_lm(model, tokenizer, TEXTS, None, tmp_path, recipe(), quiet=True)
    assert torch.equal(model.lm_head.token_counts, counts)


def test_streamed_texts_are_counted_from_their_beginning(tmp_path, tokenizer, streamed, monkeypatch):
    monkeypatch.setattr(language_model, "_COUNTED_TEXTS", 3)
    chosen = recipe(**streamed)
    model = model_for(tokenizer, output_layer="adaptive")
    steps = [make_batches(tokenizer, CausalLM().read(chosen, "train"), chosen, m).next_step()[0] for m in (model, None)]
    assert torch.equal(*(step.inputs["input_ids"] for step in steps)), "counting took texts from the training"
    expected = Counter(word for text in TEXTS[:3] for word in [*text.split(), "</s>"])
    counts = model.lm_head.token_counts.tolist()
    assert {tokenizer.convert_ids_to_tokens(i): n for i, n in enumerate(counts) if n} == expected


def test_a_model_that_sees_ahead_is_not_trained_on(tmp_path, tokenizer):
    """transformers makes a causal language model of BERT's weights for masked words, and lacks none."""
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds BertForMaskedLM, which is no causal language model"):
        CausalLM().model(recipe(from_pretrained=str(tmp_path)), tokenizer, TEXTS)
    BertLMHeadModel(BertConfig(vocab_size=len(tokenizer), is_decoder=True, **sizes)).save_pretrained(tmp_path)
    model = CausalLM().model(recipe(from_pretrained=str(tmp_path)), tokenizer, TEXTS)
    assert type(model) is BertLMHeadModel
