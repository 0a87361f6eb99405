# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Frozen backbones: on features that are kept, heads learn what they learn beside a backbone that runs each time."""

import json
import math
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import (
    BertConfig,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
)

from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1ForSequenceClassification,
    LectureBertConfig,
    LectureBertForMultipleChoice,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertForTokenClassification,
    RecurrentConfig,
    RecurrentForSequenceClassification,
    RecurrentForTokenClassification,
    WordTokenizer,
)
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.frozen import freeze_backbone, frozen_backbone
from hf_lecture_models.tasks.core.main import run_task, train_from_command
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.trainer.batches import Batch
from hf_lecture_models.trainer.loop import train
from hf_lecture_models.trainer.recipe import TrainingRecipe
from tests.forked_python import run_workers
from tests.interrupted import start_interrupted
from tests.tasks.small_classifier import ROWS, save_small_bert, small_bert, small_tokenizer, write_tsv

SCRIPT = Path(__file__).parents[3] / "training" / "finetune_glue.py"
SIZE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 20}
BERT = {**SIZE, "intermediate_size": 8, "classifier_dropout": 0.4, "max_position_embeddings": 16}
PAD, DELIM, EXTRACT, START = 0, 17, 18, 19
ROW_COUNT = 14


def made(model_class: Any, config_class: Any, **fields: Any) -> Callable[[], Any]:
    """What makes a model, weights all drawn widely, so that none of them is without effect."""

    def make() -> Any:
        torch.manual_seed(1)
        model = model_class(config_class(pad_token_id=PAD, **fields))
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) / 3)
        return model

    return make


def texts(seed: int = 0) -> list[list[int]]:
    """Of 4 to 9 tokens, from Start over Delim to Extract; two are equal."""
    draw = np.random.default_rng(seed)
    rows = [
        [START, *draw.integers(1, 17, n % 3 + 1), DELIM, *draw.integers(1, 17, n % 4 + 1), EXTRACT] for n in range(13)
    ]
    return [[int(token) for token in row] for row in (*rows, rows[3])]


class Collator:
    """Texts with padding on either side and labels of any kind of head; a choice is between three texts in a row."""

    def __init__(self, labels: str, names: tuple[str, ...] = ("token_type_ids",), side: str = "right") -> None:
        self.texts, self.labels, self.names, self.side = texts(), labels, names, side

    def __call__(self, rows: np.ndarray) -> Batch:
        real = [int(row) for row in rows if row >= 0] or [0]
        count = 3 if self.labels == "choice" else 1
        chosen = [self.texts[(row + 2 * choice) % ROW_COUNT] for row in real for choice in range(count)]
        width = max(map(len, chosen))
        inputs = {name: [] for name in ("input_ids", "attention_mask", "token_type_ids")}
        for text in chosen:
            padding = [0] * (width - len(text))
            second = text.index(DELIM) + 1
            types = [0] * second + [1] * (len(text) - second)
            for name, own in zip(inputs, (text, [1] * len(text), types), strict=True):
                inputs[name].append(own + padding if self.side == "right" else padding + own)
        tensors = {name: torch.tensor(value) for name, value in inputs.items()}
        tensors = {name: tensors[name] for name in ("input_ids", "attention_mask", *self.names)}
        if self.labels == "choice":
            tensors = {name: value.unflatten(0, (-1, 3)) for name, value in tensors.items()}
        return Batch(tensors | self.labels_of(real, tensors), len(real))

    def labels_of(self, real: list[int], tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        classes = torch.tensor(real) % 3
        if self.labels == "span":
            return {"start_positions": classes, "end_positions": classes + 1}
        if self.labels == "tags":
            tags = (tensors["input_ids"] + classes[:, None]) % 3
            return {"labels": tags.masked_fill(tensors["attention_mask"] == 0, -100)}
        return {"labels": classes}


class Counted:
    """How many texts a module reads."""

    def __init__(self, module: nn.Module) -> None:
        self.texts = 0
        module.register_forward_pre_hook(self.count)

    def count(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        self.texts += len(arguments[0])


def recipe(**fields: Any) -> TrainingRecipe:
    return TrainingRecipe(**({"epochs": 3, "batch_size": 4, "optimizer": "sgd", "learning_rate": 0.05} | fields))


def by_hand(model: Any, batches: ShuffledBatches, chosen: TrainingRecipe) -> list[float]:
    """Plain gradient descent on the weights outside of the backbone, which is run each time in eval mode."""
    model.base_model.requires_grad_(False)
    model.train()
    model.base_model.eval()
    torch.manual_seed(chosen.seed)
    weights, losses = [weight for weight in model.parameters() if weight.requires_grad], []
    for _ in range(int(chosen.epochs) * batches.steps_per_epoch):
        (batch,) = batches.next_step()
        loss = model(**batch.inputs).loss
        gradients = torch.autograd.grad(loss, weights)
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= chosen.learning_rate * gradient * min(1.0, 1 / norm)
        losses.append(loss.item())
    return losses


PAIRS = {**SIZE, "extract_token_id": EXTRACT, "delim_token_id": DELIM, "max_position_embeddings": 16, "num_labels": 3}
CASES: dict[str, tuple[Callable[[], Any], Collator]] = {
    "bert": (made(BertForSequenceClassification, BertConfig, num_labels=3, **BERT), Collator("class")),
    "bert_choice": (made(BertForMultipleChoice, BertConfig, **BERT), Collator("choice")),
    "bert_tags": (made(BertForTokenClassification, BertConfig, num_labels=3, **BERT), Collator("tags")),
    "distilbert": (
        made(
            DistilBertForSequenceClassification,
            DistilBertConfig,
            **{"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 8, "vocab_size": 20, "num_labels": 3},
        ),
        Collator("class", names=()),
    ),
    "gpt2": (
        made(
            GPT2ForSequenceClassification,
            GPT2Config,
            **{"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 16, "vocab_size": 20, "num_labels": 3},
        ),
        Collator("class", names=()),
    ),
    "lecture_bert": (
        made(LectureBertForSequenceClassification, LectureBertConfig, num_labels=3, hidden_dropout_prob=0.4, **SIZE),
        Collator("class", side="left"),
    ),
    "lecture_bert_choice": (
        made(LectureBertForMultipleChoice, LectureBertConfig, hidden_dropout_prob=0.4, **SIZE),
        Collator("choice"),
    ),
    "lecture_bert_tags": (
        made(LectureBertForTokenClassification, LectureBertConfig, num_labels=3, hidden_dropout_prob=0.4, **SIZE),
        Collator("tags", side="left"),
    ),
    "lecture_bert_answers": (made(LectureBertForQuestionAnswering, LectureBertConfig, **SIZE), Collator("span")),
    "gpt1_both_orders": (
        made(Gpt1ForSequenceClassification, Gpt1Config, both_orders=True, auxiliary_lm_weight=0.5, **PAIRS),
        Collator("class", names=()),
    ),
    "recurrent": (
        made(RecurrentForSequenceClassification, RecurrentConfig, vocab_size=20, hidden_size=8, num_labels=3),
        Collator("class", names=(), side="left"),
    ),
    "recurrent_pairs": (
        made(
            RecurrentForSequenceClassification,
            RecurrentConfig,
            **{"vocab_size": 20, "hidden_size": 8, "num_labels": 3, "bidirectional": True, "dropout": 0.3},
            pair_combination="infersent",
        ),
        Collator("class"),
    ),
    "recurrent_tags": (
        made(RecurrentForTokenClassification, RecurrentConfig, vocab_size=20, hidden_size=8, num_labels=3, dropout=0.3),
        Collator("tags", names=()),
    ),
    "bag_of_words": (
        made(BagOfWordsForSequenceClassification, BagOfWordsConfig, vocab_size=20, hidden_sizes=[8], num_labels=3),
        Collator("class", names=()),
    ),
}


@pytest.mark.cases(4, 4)
@pytest.mark.parametrize("name", CASES)
def test_heads_learn_what_they_learn_beside_a_backbone_that_runs(tmp_path: Path, name: str) -> None:
    make, collate = CASES[name]
    chosen = recipe(log_every=1)
    model, other, before = make(), make(), make()
    losses = by_hand(other, ShuffledBatches(ROW_COUNT, collate, 4, 0), chosen)
    freeze_backbone(model, new=())
    read = Counted(next(module for module in model.modules() if isinstance(module, nn.Embedding)))
    batches = ShuffledBatches(ROW_COUNT, collate, 4, 0)
    with frozen_backbone(model, batches):
        result = train(model, batches, chosen, tmp_path, quiet=True)
    assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
    start = dict(before.named_parameters())
    for (key, weight), (_, same) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        torch.testing.assert_close(weight, same, rtol=1e-4, atol=1e-6, msg=key)
        # A bias that all choices or all places have alike is never learned.
        assert torch.equal(weight, start[key]) or weight.requires_grad, key
        assert not torch.equal(weight, start[key]) or not weight.requires_grad or weight.dim() == 1, key
    assert set(load_file(tmp_path / "model.safetensors")) <= set(model.state_dict())
    # One of the texts comes twice. Which outputs are read, all texts but few together show once more.
    assert vars(model.base_model).keys() == vars(before.base_model).keys()
    if name != "recurrent_pairs":  # its head looks up the words
        rows = 2 if name == "gpt1_both_orders" else 1
        probed = ROW_COUNT * (3 if collate.labels == "choice" else rows)
        assert read.texts == (ROW_COUNT - 1) * rows + probed


def test_a_backbone_with_new_weights_trains_these_and_runs_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, collate = CASES["bert"]
    model, other = make(), make()
    new = [name for name, _ in model.named_parameters() if ".pooler." in name]
    freeze_backbone(model, new)
    batches, own = (ShuffledBatches(ROW_COUNT, collate, 4, 0) for _ in range(2))
    read = Counted(model.bert.embeddings.word_embeddings)
    with frozen_backbone(model, batches):
        train(model, batches, recipe(clip_norm=None), tmp_path, quiet=True)
    assert "new weights are trained too, so it reads every text in every epoch: pooler.dense" in capsys.readouterr().err
    assert read.texts == 3 * ROW_COUNT
    for name, weight in other.named_parameters():
        weight.requires_grad_(not name.startswith("bert.") or name in new)
    other.train()
    other.bert.eval()
    torch.manual_seed(0)
    optimizer = torch.optim.SGD([weight for weight in other.parameters() if weight.requires_grad], lr=0.05)
    for _ in range(3 * own.steps_per_epoch):
        optimizer.zero_grad()
        other(**own.next_step()[0].inputs).loss.backward()
        optimizer.step()
    for (key, weight), (_, same) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        torch.testing.assert_close(weight, same, rtol=1e-4, atol=1e-6, msg=key)


def test_a_head_that_reads_padding_gets_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, collate = made(BertForQuestionAnswering, BertConfig, **BERT), Collator("span")
    model, other = make(), make()
    by_hand(other, ShuffledBatches(ROW_COUNT, collate, 4, 0), recipe())
    freeze_backbone(model, new=())
    batches = ShuffledBatches(ROW_COUNT, collate, 4, 0)
    with frozen_backbone(model, batches):
        train(model, batches, recipe(), tmp_path, quiet=True)
    assert "BertForQuestionAnswering reads states of padding" in capsys.readouterr().err
    for weight, same in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(weight, same, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "lecture_bert_tags", "recurrent"])
def test_features_in_bf16_are_those_of_a_backbone_that_runs(tmp_path: Path, name: str) -> None:
    make, collate = CASES[name]
    found = []
    for is_kept in (True, False):
        model = make()
        freeze_backbone(model, new=())
        model.base_model.eval()
        vars(model.base_model)["train"] = lambda mode=True: None
        batches = ShuffledBatches(ROW_COUNT, collate, 4, 0)
        with frozen_backbone(model, batches, "bf16") if is_kept else nullcontext():
            train(model, batches, recipe(mixed_precision="bf16"), tmp_path / str(is_kept), quiet=True)
        found.append([weight for weight in model.parameters() if weight.requires_grad])
    assert not torch.allclose(found[0][-1], list(make().parameters())[-1], atol=0.02), "it learns"
    for weight, same in zip(*found, strict=True):
        torch.testing.assert_close(weight, same, rtol=0.02, atol=0.01)


def test_what_cannot_be_frozen_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="freeze_backbone needs from_pretrained: a new backbone has learned nothing"):
        TextClassificationRecipe(train_rows=ROWS, freeze_backbone=True)
    with pytest.raises(ValueError, match="BertModel has no weight outside its backbone"):
        freeze_backbone(BertModel(BertConfig(**BERT)), new=())
    linear = BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=9, num_labels=2))
    with pytest.raises(ValueError, match="BagOfWordsForSequenceClassification has no weight outside its backbone"):
        freeze_backbone(linear, new=())
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    make, collate = CASES["bert"]
    with (
        pytest.raises(ValueError, match="needs no sharding"),
        frozen_backbone(make(), ShuffledBatches(3, collate, 1, 0)),
    ):
        pass


# From the command line


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    model = small_bert(classifier_dropout=0.4)
    model.bert.save_pretrained("FOLDER")
    small_tokenizer().save_pretrained("FOLDER")
    write_tsv(Path("T.tsv"))
    write_tsv(Path("V.tsv"), ROWS[::-1])
    line = "--from_pretrained FOLDER --train_files T.tsv --columns.text sentence --freeze_backbone --output_dir OUT"
    return [*line.split(), "--epochs", "5", "--batch_size", "4", "--learning_rate", "0.05"]


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model.safetensors"))


def test_the_saved_folder_is_an_ordinary_checkpoint(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run_task(TextClassification(), [*command, "--validation_files", "V.tsv", "--test_files", "V.tsv"], "")
    said = capsys.readouterr()
    assert "features of 12 texts take 0.0 MiB of memory" in said.err
    assert "start anew: classifier.bias, classifier.weight" in said.err
    assert "training 18 parameters" in said.err
    assert said.out.startswith("15 steps")
    saved, start = weights("OUT"), weights("FOLDER")
    assert saved.keys() == set(small_bert().state_dict())
    assert all(torch.equal(saved[f"bert.{name}"], weight) for name, weight in start.items())
    # The record of the run, whose features were kept, and that of the saved model agree.
    facts, record = (json.loads(Path("OUT", name).read_text()) for name in ("facts.json", "training.json"))
    assert facts["results"]["accuracy"] == record["best_metric"]


@pytest.mark.slow
def test_stopped_and_resumed_it_ends_in_the_same_bits(command: list[str]) -> None:
    stopped = start_interrupted("step", 7, "SIGTERM", SCRIPT, *command)
    out, err = stopped.communicate()
    assert stopped.returncode == 128 + signal.SIGTERM, err
    assert "stopped by SIGTERM at step 7" in out
    train_from_command(TextClassification(), [*command, "--resume"])
    train_from_command(TextClassification(), [*command, "--output_dir", "straight"])
    resumed, straight = weights("OUT"), weights("straight")
    assert all(torch.equal(weight, straight[name]) for name, weight in resumed.items())
    with pytest.raises(ValueError, match="cannot resume: freeze_backbone is False"):
        train_from_command(TextClassification(), [*command, "--resume", "--freeze_backbone", "false"])


@pytest.mark.slow
def test_two_processes_train_as_one(command: list[str]) -> None:
    tokenizer_folder = save_small_bert(Path("FOLDER"))  # without dropout, which each process draws for itself
    assert tokenizer_folder.is_dir()
    _, err = run_workers(str(SCRIPT), *command, "--num_processes", "2")
    assert err.count("features of 12 texts") == 1
    train_from_command(TextClassification(), [*command, "--output_dir", "one"])
    two = weights("OUT")
    for name, weight in weights("one").items():
        torch.testing.assert_close(two[name], weight, rtol=1e-4, atol=1e-6)


def test_what_stays_random_or_untrained_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = WordTokenizer.train([row["text"] for row in ROWS], progress=False)
    tokenizer.save_pretrained(tmp_path)
    fields = {"vocab_size": len(tokenizer), "max_position_embeddings": 16, "pad_token_id": tokenizer.pad_token_id}
    Gpt1ForCausalLM(Gpt1Config(**(SIZE | fields))).save_pretrained(tmp_path)
    chosen = TextClassificationRecipe(
        train_rows=ROWS, from_pretrained=str(tmp_path), freeze_backbone=True, model={"auxiliary_lm_weight": 0.5}
    )
    task = TextClassification()
    data = task.read(chosen, "train")
    model = task.model(chosen, task.processor(chosen, data), data)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert trained == ["classifier.weight", "classifier.bias"]
    said = capsys.readouterr().err
    assert "the word vectors of the new tokens are random, and freeze_backbone leaves them so" in said
    assert "auxiliary_lm_weight trains nothing of a frozen backbone" in said
