# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The loss that transformers' own Trainer reports and descends is the model's own, for every option that touches it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.integrations.neftune import activate_neftune

from hf_lecture_models import (
    EfficientTransformerConfig,
    EfficientTransformerForMaskedLM,
    Gpt1Config,
    Gpt1ForCausalLM,
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    NGramForCausalLM,
    RecurrentSeq2SeqConfig,
    RecurrentSeq2SeqForConditionalGeneration,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
)
from hf_lecture_models.hub import export
from tests.interop.small_models import count_tokens, small_model, small_tokenizer

# Of 2 to 6 words, so that a batch is padded by another number of tokens for each size.
TEXTS = [" ".join(["the", "cat", "sat", "on", "the", "mat"][: 2 + row % 5]) for row in range(20)]
TOKENIZER = small_tokenizer()
SPECIAL = {f"{kind}_token_id": getattr(TOKENIZER, f"{kind}_token_id") for kind in ("bos", "eos", "pad")}
ROWS = [{"input_ids": TOKENIZER(f"{text} {TOKENIZER.eos_token}")["input_ids"]} for text in TEXTS]
FIELDS = {"vocab_size": len(TOKENIZER), "hidden_size": 16, **SPECIAL}
NO_DROPOUT = {"dropout": 0.0}
CAUSAL: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt1": ("gpt1", NO_DROPOUT | {"embedding_dropout": 0.0, "attention_dropout": 0.0}),
    "self_attention": ("self_attention", NO_DROPOUT),
    "efficient": ("efficient_transformer", NO_DROPOUT | {"attention_kind": "linear"}),
    "feed_forward": ("feed_forward", NO_DROPOUT),
    "recurrent": ("recurrent", NO_DROPOUT),
    "adaptive": ("recurrent", NO_DROPOUT | {"output_layer": "adaptive"}),
}
SIDES = ("left", "right")


def causal_model(name: str) -> Any:
    set_seed(0)
    if name == "transformer_xl":
        shape = {"num_attention_heads": 2, "d_head": 8, "d_inner": 32, "num_hidden_layers": 2, "mem_len": 8}
        return TransfoXLLMHeadModel(TransfoXLConfig(**FIELDS, **shape, dropout=0.0, dropatt=0.0))
    if name == "ngram":
        return NGramForCausalLM.fit(TEXTS, TOKENIZER, order=2, smoothing="add_alpha", progress=False)
    folder, fields = CAUSAL[name]
    model = small_model(folder, TOKENIZER, **{"hidden_size": 16, **fields})
    count_tokens(model, ROWS)
    return model


def next_tokens(side: str) -> Callable[[list[Any]], Any]:
    tokenizer = small_tokenizer()
    tokenizer.padding_side = side
    return DataCollatorForLanguageModeling(tokenizer, mlm=False)


def some_masked(side: str, first: int = 1) -> Callable[[list[Any]], Any]:
    """Every third token is to be predicted, by a rule: the rows are the same whatever batch they are in."""
    tokenizer = small_tokenizer()
    tokenizer.padding_side = side
    collate = DataCollatorForTokenClassification(tokenizer)

    def masked(rows: list[Any]) -> Any:
        ids = [row["input_ids"] for row in rows]
        labels = [[token if place % 3 == first else -100 for place, token in enumerate(row)] for row in ids]
        return collate([{"input_ids": a, "labels": b} for a, b in zip(ids, labels, strict=True)])

    return masked


def bert() -> Any:
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return LectureBertForMaskedLM(LectureBertConfig(**FIELDS, **shape, **no_dropout))


def efficient_masked() -> Any:
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "window_size": 2, "max_position_embeddings": 32}
    return EfficientTransformerForMaskedLM(EfficientTransformerConfig(**FIELDS, **shape, dropout=0.0))


def transformer(**changes: Any) -> Any:
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "dropout": 0.0}
    start = {"decoder_start_token_id": TOKENIZER.bos_token_id}
    return LectureTransformerForConditionalGeneration(LectureTransformerConfig(**FIELDS, **shape, **start, **changes))


def recurrent_seq2seq() -> Any:
    start = {"decoder_start_token_id": TOKENIZER.bos_token_id}
    config = RecurrentSeq2SeqConfig(**FIELDS, **start, attention_type="dot", dropout=0.0)
    return RecurrentSeq2SeqForConditionalGeneration(config)


def captioning() -> Any:
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "hidden_dropout_prob": 0.0}
    shape |= {"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32, "max_position_embeddings": 16}
    images = {"image_size": 4, "patch_size": 2, "num_channels": 1, "decoder_start_token_id": TOKENIZER.bos_token_id}
    return ImageCaptioningForConditionalGeneration(ImageCaptioningConfig(**FIELDS, **shape, **images))


OTHERS: dict[str, Callable[[], Any]] = {
    "bert": bert,
    "efficient_masked": efficient_masked,
    "transformer": transformer,
    "two_vocabularies": lambda: transformer(decoder_vocab_size=len(TOKENIZER)),
    "recurrent_seq2seq": recurrent_seq2seq,
    "captioning": captioning,
}


def other_collator(name: str, model: Any, side: str) -> Callable[[list[Any]], Any]:
    if name in ("bert", "efficient_masked"):
        return some_masked(side)
    tokenizer = small_tokenizer()
    tokenizer.padding_side = "right"  # targets begin with the start token
    pad = DataCollatorForSeq2Seq(tokenizer, model=model)

    def pairs(rows: list[Any]) -> Any:
        batch = pad([{"input_ids": row["input_ids"], "labels": row["input_ids"][1:]} for row in rows])
        if name == "captioning":
            del batch["attention_mask"]
            ids = batch.pop("input_ids")
            batch["pixel_values"] = (ids[:, :1, None, None] + torch.arange(16.0).view(1, 1, 4, 4)) / 16
        return batch

    return pairs


def trainer(model: Any, folder: Path, collate: Any, **changes: Any) -> Trainer:
    options = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "max_steps": 2}
    options |= {"optim": "sgd", "learning_rate": 0.5, "max_grad_norm": 0.0, "remove_unused_columns": False}
    arguments = TrainingArguments(output_dir=str(folder), **options | changes)
    return Trainer(model, arguments, train_dataset=ROWS, eval_dataset=ROWS, data_collator=collate)


def own_mean(model: Any, collate: Any, size: int = 8) -> float:
    """The model's own loss of each batch; Trainer weighs a batch by its rows."""
    batches = [ROWS[start : start + size] for start in range(0, len(ROWS), size)]
    model.eval()
    with torch.no_grad():
        return sum(model(**collate(batch)).loss.item() * len(batch) for batch in batches) / len(ROWS)


def assert_accumulation_changes_nothing(build: Callable[[], Any], collate: Callable[[Any], Any], folder: Path) -> None:
    """Plain descent: its step is the gradient, so weights after two steps are equal if the gradients were."""
    weights = []
    for size, steps in ((8, 1), (4, 2), (2, 4), (1, 8)):
        set_seed(0)
        model = build()
        sizes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": steps}
        trainer(model, folder / str(size), collate(model), **sizes).train()
        weights.append(model.state_dict())
    for key, value in weights[0].items():
        for accumulated in weights[1:]:
            torch.testing.assert_close(accumulated[key], value, rtol=0, atol=1e-6)


@pytest.mark.cases(4, 4)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", [*CAUSAL, "transformer_xl", "ngram"])
def test_evaluation_of_a_causal_model(name: str, side: str, tmp_path: Path) -> None:
    model, collate = causal_model(name), next_tokens(side)
    loss = trainer(model, tmp_path, collate).evaluate()["eval_loss"]
    assert loss == pytest.approx(own_mean(model, collate), rel=1e-5)
    # One batch holds all, and its loss is the mean over the tokens that `score` gives a probability.
    whole = trainer(model, tmp_path, collate, per_device_eval_batch_size=len(ROWS)).evaluate()["eval_loss"]
    batch = collate(ROWS)
    scores = model.eval().score(batch["input_ids"], batch["attention_mask"])
    predicted = sum(len(row["input_ids"]) - 1 for row in ROWS)
    assert whole == pytest.approx(-scores.sum().item() / predicted, rel=1e-5)


@pytest.mark.cases(2, 4)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", [*CAUSAL, "transformer_xl"])
def test_accumulated_steps_of_a_causal_model(name: str, side: str, tmp_path: Path) -> None:
    assert_accumulation_changes_nothing(lambda: causal_model(name), lambda model: next_tokens(side), tmp_path)


@pytest.mark.cases(4, 4)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", [*CAUSAL, "transformer_xl", "ngram"])
def test_smoothed_labels_of_a_causal_model(name: str, side: str, tmp_path: Path) -> None:
    model, collate = causal_model(name).eval(), next_tokens(side)
    loss = trainer(model, tmp_path, collate, label_smoothing_factor=0.1, per_device_eval_batch_size=20).evaluate()
    batch = collate(ROWS)
    with torch.no_grad():
        logits = model(batch["input_ids"], batch["attention_mask"]).logits[:, :-1]
    predicted = batch["attention_mask"][:, :-1].bool() & batch["attention_mask"][:, 1:].bool()
    expected = cross_entropy(logits[predicted], batch["input_ids"][:, 1:][predicted], label_smoothing=0.1)
    assert loss["eval_loss"] == pytest.approx(expected.item(), rel=1e-5)


def test_a_subclass_of_another_name(tmp_path: Path) -> None:
    """transformers knows by the name whether to shift labels; a class derived from ours has another one."""

    class Mine(Gpt1ForCausalLM):
        pass

    set_seed(0)
    model, collate = Mine(Gpt1Config(**FIELDS, num_hidden_layers=1, num_attention_heads=2)), next_tokens("left")
    assert trainer(model, tmp_path, collate).evaluate()["eval_loss"] == pytest.approx(own_mean(model, collate))
    batch = collate(ROWS)
    with torch.no_grad():
        logits = model.eval()(batch["input_ids"], batch["attention_mask"]).logits[:, :-1]
    predicted = batch["attention_mask"][:, :-1].bool()
    smoothed = cross_entropy(logits[predicted], batch["input_ids"][:, 1:][predicted], label_smoothing=0.1).item()
    options = {"label_smoothing_factor": 0.1, "per_device_eval_batch_size": 20}
    assert trainer(model, tmp_path, collate, **options).evaluate()["eval_loss"] == pytest.approx(smoothed)


@pytest.mark.parametrize("side", SIDES)
def test_a_model_of_masked_words_with_the_name_of_a_causal_one(side: str, tmp_path: Path) -> None:
    """transformers guesses from "ForCausalLM" that the first label of a row is not predicted; these heads say it."""

    class NotForCausalLM(LectureBertForMaskedLM):
        pass

    set_seed(0)
    model, collate = NotForCausalLM(bert().config), some_masked(side, first=0)
    assert trainer(model, tmp_path, collate).evaluate()["eval_loss"] == pytest.approx(own_mean(model, collate))


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("side", SIDES)
def test_adapters(side: str, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")

    def adapted() -> Any:
        set_seed(0)
        return peft.get_peft_model(causal_model("gpt1"), peft.LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0))

    model, collate = adapted(), next_tokens(side)
    assert trainer(model, tmp_path, collate).evaluate()["eval_loss"] == pytest.approx(own_mean(model, collate))
    assert_accumulation_changes_nothing(adapted, lambda model: collate, tmp_path)


def test_noise_contrast_is_not_smoothed(tmp_path: Path) -> None:
    """Trainer would replace it by the loss of a full softmax, and say nothing."""
    model = small_model("recurrent", TOKENIZER, output_layer="noise_contrastive")
    count_tokens(model, ROWS)
    smoothing = trainer(model, tmp_path, next_tokens("left"), label_smoothing_factor=0.1)
    with pytest.raises(ValueError, match="label_smoothing_factor .* output_layer='softmax'"):
        smoothing.train()


def test_given_counts_are_kept(tmp_path: Path) -> None:
    """A loop of one's own divides by the number that it gives; labels in a batch it has prepared or not."""
    model, batch = causal_model("gpt1").eval(), next_tokens("left")(ROWS[:4])
    with torch.no_grad():
        loss = model(**batch).loss
        model.prepare_labels(batch)
        predicted = (batch["labels"] != -100).sum()
        assert predicted == sum(len(row["input_ids"]) - 1 for row in ROWS[:4])
        torch.testing.assert_close(model(**batch, num_items_in_batch=predicted).loss, loss)


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("name", OTHERS)
def test_other_models(name: str, tmp_path: Path) -> None:
    """Masked words and targets stand at their own places: each label but -100 is predicted."""
    for side in SIDES if name in ("bert", "efficient_masked") else ("right",):
        set_seed(0)
        model = OTHERS[name]()
        collate = other_collator(name, model, side)
        assert trainer(model, tmp_path, collate).evaluate()["eval_loss"] == pytest.approx(own_mean(model, collate))
        options = {"label_smoothing_factor": 0.1, "per_device_eval_batch_size": 20}
        loss = trainer(model, tmp_path, collate, **options).evaluate()["eval_loss"]
        batch = collate(ROWS)
        with torch.no_grad():
            logits = model.eval()(**batch).logits.flatten(0, 1)
        assert loss == pytest.approx(cross_entropy(logits, batch["labels"].flatten(), label_smoothing=0.1).item())
        assert_accumulation_changes_nothing(OTHERS[name], lambda m: other_collator(name, m, side), tmp_path)  # noqa: B023


@pytest.mark.cases(2, 4)
@pytest.mark.parametrize("name", [*CAUSAL, "transformer_xl", *OTHERS])
def test_noise_on_word_vectors(name: str, tmp_path: Path) -> None:
    """`neftune_noise_alpha` adds noise in training, and changes no evaluation."""
    set_seed(0)
    model = OTHERS[name]() if name in OTHERS else causal_model(name)
    collate = other_collator(name, model, "right") if name in OTHERS else next_tokens("left")
    batch = collate(ROWS[:8])
    model.train()
    silent = model(**batch).loss
    handle = activate_neftune(model, 50.0)
    assert model(**batch).loss != silent
    handle.remove()
    run = trainer(model, tmp_path, collate, neftune_noise_alpha=5.0)
    run.train()
    assert run.evaluate()["eval_loss"] == pytest.approx(own_mean(model, collate))


_EXPORTED = """
import json, sys, tempfile
from pathlib import Path

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "hf_lecture_models":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling
from transformers import Trainer, TrainingArguments

rows = json.loads(sys.argv[2])
found = {}
for folder in sorted(Path(sys.argv[1]).iterdir()):
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    losses = []
    for smoothing in (0.0, 0.1):
        arguments = TrainingArguments(
            output_dir=tempfile.mkdtemp(), report_to="none", use_cpu=True, per_device_eval_batch_size=20,
            label_smoothing_factor=smoothing,
        )
        losses.append(Trainer(model, arguments, eval_dataset=rows, data_collator=collate).evaluate()["eval_loss"])
    found[folder.name] = losses
print(json.dumps(found))
"""


@pytest.mark.slow
def test_published_models_without_the_package(tmp_path: Path) -> None:
    names = ("gpt1", "recurrent", "transformer_xl", "ngram")
    for name in names:
        export(causal_model(name), small_tokenizer(), tmp_path / name)
    arguments = [sys.executable, "-c", _EXPORTED, str(tmp_path), json.dumps(ROWS)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    batch = next_tokens("left")(ROWS)
    predicted = batch["attention_mask"][:, :-1].bool()
    for name in names:
        model = AutoModelForCausalLM.from_pretrained(tmp_path / name).eval()
        with torch.no_grad():
            logits = model(batch["input_ids"], batch["attention_mask"]).logits[:, :-1][predicted]
        targets = batch["input_ids"][:, 1:][predicted]
        expected = [cross_entropy(logits, targets, label_smoothing=factor).item() for factor in (0.0, 0.1)]
        assert found[name] == pytest.approx(expected, rel=1e-5), name


_TWO_PROCESSES = """
import sys
from pathlib import Path
import torch
from tests.interop.test_trainer_losses import causal_model, next_tokens, set_seed, trainer

folder = Path(sys.argv[1])
for name in ("gpt1", "transformer_xl"):
    model = causal_model(name)
    sizes = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "ddp_backend": "gloo"}
    run = trainer(model, folder / name, next_tokens("left"), **sizes)
    run.train()
    if run.is_world_process_zero():
        torch.save(model.state_dict(), folder / f"{name}.pt")
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_two_processes_are_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_TWO_PROCESSES, encoding="utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    command = [*launch, str(tmp_path / "script.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | paths)
    assert done.returncode == 0, done.stderr
    for name in ("gpt1", "transformer_xl"):
        model = causal_model(name)
        trainer(model, tmp_path / "one", next_tokens("left"), per_device_train_batch_size=8).train()
        for key, value in torch.load(tmp_path / f"{name}.pt").items():
            torch.testing.assert_close(value, model.state_dict()[key], rtol=0, atol=1e-6)
