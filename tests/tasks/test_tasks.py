# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every task of the registry passes the checks of `TaskTests` with a tiny recipe."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hf_lecture_models.tasks.core.main import run_task, train_and_test
from hf_lecture_models.tasks.registry import TASKS
from tests.tasks.captioning.test_task import write_captions
from tests.tasks.images.test_classification import SHAPE, write_images
from tests.tasks.small_answerer import ANSWERABLE
from tests.tasks.small_chooser import ROWS as CHOICES
from tests.tasks.small_classifier import ROWS as SENTENCES
from tests.tasks.small_tagger import ROWS as TAGGED
from tests.tasks.small_translator import MODELS
from tests.tasks.small_translator import ROWS as PAIRS
from tests.tasks.task_tests import TaskTests

LINE = "the keeper reads a letter in town while one ship passes light and night falls on garden"
WORDS = LINE.split(" ")
TEXTS = [" ".join((WORDS * 3)[n % 7 : n % 7 + 8 + n * 3 % 15]) for n in range(12)]
LAYER: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
BERT = {"model_type": "lecture_bert", "max_position_embeddings": 32, **LAYER}
SPANS = {"model_type": "lecture_transformer", "position_encoding": "relative_buckets", "norm_position": "pre", **LAYER}
LONG = "film " * 40


class TestCausalLM(TaskTests):
    task = TASKS["causal_lm"]
    fields = {"model": {"model_type": "lecture_recurrent", "hidden_size": 8}, "layout": "stream", "sequence_length": 6}
    data = TEXTS
    mistakes = [({"layout": "rows"}, "layout must be one of stream, blocks, texts, not 'rows'")]


class TestSyntheticRecall(TaskTests):
    task = TASKS["synthetic_recall"]
    fields = {"model": {"model_type": "lecture_self_attention", **LAYER}, "batch_size": 4}
    data = [{"text": f"k{n % 5} v{n % 3} . k{n % 5} v{n % 3}" + " ." * (n % 4), "answers": [4]} for n in range(12)]
    mistakes = [
        ({"texts": "recall"}, "texts must be one of associative_recall, copying, induction, list_operations"),
        ({"train_files": [], "pairs": [0]}, "pairs must be numbers of at least 1, such as [4, 8], not [0]"),
        ({"train_files": [], "pairs": [20]}, "20 pairs need texts of at least 80 words"),
        ({"train_files": [], "texts": "induction", "words": 9}, "half of them different, not 64 words of 9"),
        ({"masked": True}, "AutoModelForMaskedLM has no model of model.model_type 'lecture_self_attention'"),
    ]
    unreadable = ({"text": "k1 v1", "answers": [2]}, "row 1: answers is .2.; the text has the places 0 to 1")


class TestMaskedRecall(TestSyntheticRecall):
    """A masked language model, which is another class."""

    fields = {"model": BERT, "masked": True, "tokenizer": {"type": "word", "template": "bert"}, "batch_size": 4}
    mistakes = [({"tokenizer": {"type": "word"}}, "has no token that the model needs: a mask")]


class TestMaskedLM(TaskTests):
    task = TASKS["masked_lm"]
    fields = {
        "model": BERT,
        "documents": "texts",
        "sequence_length": 16,
        "tokenizer": {"type": "word", "template": "bert"},
    }
    data = TEXTS
    mistakes = [
        ({"mask_probability": 1.5}, "mask_probability must be above 0 and at most 1, not 1.5"),
    ]


class TestMaskedWords(TestMaskedLM):
    """Without next sentences, which is another class of models."""

    fields = TestMaskedLM.fields | {"next_sentence": False}
    mistakes = []


class TestBidirectionalLM(TaskTests):
    task = TASKS["bidirectional_lm"]
    fields = {
        "model": {"model_type": "lecture_elmo", "char_embedding_size": 4, "char_filters": [[1, 4]], "hidden_size": 8}
        | {"projection_size": 4, "num_highway_layers": 1, "softmax_samples": 4},
        "tokenizer": {"type": "elmo", "max_characters_per_token": 8, "vocab_size": 10},
        "sequence_length": 6,
    }
    data = TEXTS
    mistakes = [({"tokenizer": {"type": "word"}}, "WordTokenizer has no words to predict; a language model of both")]


class TestTextClassification(TaskTests):
    task = TASKS["text_classification"]
    fields = {
        "model": {"model_type": "lecture_recurrent", "hidden_size": 8},
        "max_length": 16,
        "label_names": {"0": "bad"},
    }
    data = SENTENCES
    mistakes = [
        ({"task": "rto"}, "task must be one of cola, "),
        ({"pseudo_labels": "TEACHER"}, "pseudo_labels and unlabelled_files belong together"),
        ({"class_weights": {"0": -1.0}}, "class_weights.0 must be a number of at least 0, not -1.0"),
        ({"class_weights": {"0": "much"}}, "class_weights.0 must be a number of at least 0, not 'much'"),
        ({"class_weights": {"0": 2.0}, "problem_type": "regression"}, "class_weights are for classes"),
        ({"class_weights": {"fine": 2.0}}, "class_weights.fine names none of the classes bad, 1"),
    ]
    unreadable = ({"text": None}, "row 1: text is None, no text")


class TestTokenClassification(TaskTests):
    task = TASKS["token_classification"]
    fields = {"model": {**BERT, "max_position_embeddings": 16}, "scheme": "entities"}
    data = TAGGED
    unreadable = ({"tokens": LONG.split()}, "row 1 has 42 tokens, more than the model's longest input; `max_length` 16")


class TestQuestionAnswering(TaskTests):
    task = TASKS["question_answering"]
    fields = {
        "model": {**BERT, "max_position_embeddings": 20},
        "max_length": 24,
        "doc_stride": 6,
        "max_answer_length": 6,
    }
    data = ANSWERABLE
    unreadable = ({"question": "", "context": "a film"}, "row 1 .* has no question; add it, or leave the row out")


class TestMultipleChoice(TaskTests):
    task = TASKS["multiple_choice"]
    fields = {"model": {**BERT, "max_position_embeddings": 16}}
    data = CHOICES
    unreadable = (CHOICES[0] | {"context": LONG}, "row 1, choice 0 has 46 tokens")


class TestTranslation(TaskTests):
    task = TASKS["translation"]
    fields = {"model": MODELS["ours"], "batch_tokens": 32, "num_beams": 1, "max_length": 60}
    fields |= {"tokenizer": {"type": "bpe", "form": "bytes", "vocab_size": 320}}
    data = PAIRS
    mistakes = [
        ({"label_smoothing": 1.0}, "label_smoothing must be below 1"),
        ({"task": "german"}, "task must be one of"),
    ]
    unreadable = ({"source": " "}, "row 1 has an empty side")


class TestSpanCorruption(TaskTests):
    task = TASKS["span_corruption"]
    fields = {"model": SPANS | {"dropout": 0.1}, "documents": "texts", "sequence_length": 40, "sentinels": 6}
    fields |= {"tokenizer": {"type": "word"}}
    data = TEXTS
    mistakes = [
        ({"noise_density": 1.0}, "noise_density must be above 0 and below 1, not 1.0"),
        ({"mean_span_length": 0.5}, "mean_span_length must be at least 1, not 0.5"),
        (
            {"model": SPANS | {"position_encoding": "learned", "max_position_embeddings": 20}},
            "sequence_length 40 is more than the model's longest input, 20 tokens",
        ),
    ]


class TestTextToText(TaskTests):
    task = TASKS["text_to_text"]
    fields = {"model": MODELS["ours"], "tokenizer": {"type": "word"}, "max_length": 20}
    data = [{"sentence": row["text"], "label": row["label"]} for row in SENTENCES]
    data += [{"sentence": "sst2 sentence : positive negative", "label": 1}]
    mistakes = [({"task": "stsb"}, "task must be one of cola, sst2")]
    unreadable = ({"sentence": None}, "row 1: text is None, no text")


class TestWordVectors(TaskTests):
    task = TASKS["word_vectors"]
    fields = {
        "model": {"model_type": "lecture_word2vec", "hidden_size": 4},
        "tokenizer": {"type": "word", "min_count": 1},
    }
    fields |= {"batch_size": 2, "block_words": 8, "updates_per_step": 2, "shared_noise": 4, "subsample_threshold": 0}
    data = TEXTS
    mistakes = [
        ({"clip_norm": 1.0}, "word vectors are trained without clip_norm"),
        ({"weight_decay": 0.1}, "word vectors are trained without weight_decay"),
        ({"accumulation_steps": 2}, "word vectors are trained without accumulation_steps"),
        ({"model": BERT}, "is no word2vec; set model.model_type lecture_word2vec"),
    ]


class ImageTests(TaskTests):
    """The data are classes of images, each with a shade."""

    fields = {"model": SHAPE | {"num_channels": 1}}
    data = list("abcdefg")

    def write(self, name: str, data: Sequence[Any]) -> str:
        shutil.rmtree(name, ignore_errors=True)
        if data != ["damaged"]:
            return str(write_images(Path(name), tuple(data), number=2))
        Path(name).mkdir()
        Path(name, "a.png").write_bytes(b"no image")
        return name


class TestImageClassification(ImageTests):
    task = TASKS["image_classification"]
    mistakes = [
        ({"model": SHAPE | {"patch_size": 3}}, "image_size is 4; it must be a multiple of patch_size=3"),
        ({"model": SHAPE | {"num_channels": 2}}, "model.num_channels must be 1 or 3, not 2"),
        (
            {"model": SHAPE | {"pach_size": 2}},
            "no field model.pach_size in LectureViTConfig; did you mean model.patch_si",
        ),
        ({"tokenizer": {"type": "word"}}, "images have no tokenizer; leave tokenizer out"),
        ({"validation_share": 1}, "validation_share must be below 1"),
        ({"dataset_name": "some/images"}, "the recipe names its data twice"),
        ({"freeze_backbone": True}, "freeze_backbone needs from_pretrained"),
    ]
    unreadable = ("damaged", "a.png cannot be read as an image")


class TestMaskedImages(ImageTests):
    task = TASKS["masked_images"]
    mistakes = [({"mask_probability": 0}, "mask_probability must be above 0")]


class TestImageCaptioning(TaskTests):
    """The data are words, each for an image with a shade of its own."""

    task = TASKS["image_captioning"]
    fields = {"model": SHAPE | {"model_type": "lecture_image_captioning", "num_channels": 1}}
    fields["model"] |= {"max_position_embeddings": 8}
    data = ["dark", "dim", "grey", "pale", "light", "white", "bright"]
    mistakes = [
        ({"model": fields["model"] | {"patch_size": 3}}, "image_size is 4; it must be a multiple of patch_size=3"),
        ({"model": fields["model"] | {"num_channels": 2}}, "model.num_channels must be 1 or 3, not 2"),
        ({"model": fields["model"] | {"max_position_embeddings": 5}}, "a caption of 6 tokens, and the model reads 5"),
        ({"brightness_thresholds": [9, 3]}, "brightness_thresholds must be two rising numbers up to 255"),
        ({"tokenizer": {"type": "unigram", "sampling": 0.2}}, "leave tokenizer.sampling out"),
        ({"captions": "written"}, "captions must be one of templated, not 'written'"),
        ({"validation_share": 1}, "validation_share must be below 1"),
    ]
    unreadable = ("damaged", "0.png cannot be read as an image")

    def write(self, name: str, data: Sequence[Any]) -> str:
        shutil.rmtree(name, ignore_errors=True)
        if data != ["damaged"]:
            return str(write_captions(Path(name), [(f"an image that is {w}", 36 * self.data.index(w)) for w in data]))
        Path(name).mkdir()
        Path(name, "0.png").write_bytes(b"no image")
        return name


class TestSequencePrediction(TaskTests):
    task = TASKS["sequence_prediction"]
    fields = {"model": {"model_type": "lecture_graves", "hidden_size": 4, "quantization_step": 1}, "tokenizer": {}}
    data = [[[n % 3, k, int(k == n % 4)] for k in range(2 + n % 4)] for n in range(12)]
    mistakes = [
        ({"tokenizer": {"type": "word"}}, "points have no tokenizer; leave tokenizer out"),
        ({"model": {"model_type": "lecture_graves", "has_pen": False}}, "'bivariate' with point_size=3"),
        ({"model": {"model_type": "lecture_graves", "point_size": 1}}, "mixture='diagonal'"),
        ({"model": {"model_type": "lecture_vit"}}, "lecture_vit is no model of points: lecture_graves is one"),
        (
            {"model": {"model_type": "lecture_graves", "quantization_step": 2}},
            "is no multiple of model.quantization_ste",
        ),
        ({"dataset_name": "some/points", "train_files": []}, "dataset_name must be one of scikit-learn:digits"),
    ]
    unreadable = ([[3, 1]], "row 1: points have 2 numbers, and the model reads 3 with the pen")


class TestJointGaussian(TestSequencePrediction):
    """A model that is estimated in one step."""

    fields = {"model": {"model_type": "lecture_joint_gaussian", "order": 1}, "tokenizer": {}, "save_every": 1}
    mistakes = [({"model": {"model_type": "lecture_joint_gaussian", "order": -1}}, "order is -1; it must be finite")]

    def test_a_singular_covariance_ends_the_run_in_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And a ridge that the message asks for, in the same folder, does not."""
        monkeypatch.chdir(tmp_path)
        fields = {"model_type": "lecture_joint_gaussian", "order": 9}
        with pytest.raises(SystemExit, match="error: the covariance of the points is singular, with model.ridge 0 and"):
            run_task(self.task, self.options(model=fields | {"ridge": 0}), "")
        run_task(self.task, self.options(model=fields | {"ridge": 0.001}), "")
        assert Path("run", "model.safetensors").is_file()

    def test_a_run_resumes_to_the_same_bits_and_only_with_its_data(
        self, trained: tuple[Path, Any], outcome: Any
    ) -> None:
        """There is one step, so that a finished run resumes to itself, and another run finds the same bits."""
        before = load_file("run/model.safetensors")
        train_and_test(self.task, self.recipe(), resume=True)
        train_and_test(self.task, self.recipe(output_dir="again"))
        for folder in ("run", "again"):
            after = load_file(f"{folder}/model.safetensors")
            assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
        other = self.recipe()
        self.write("train", self.data[1:])
        with pytest.raises(ValueError, match="cannot resume: the training data changed"):
            train_and_test(self.task, other, resume=True)


def test_each_task_of_the_registry_is_checked() -> None:
    classes = [*TaskTests.__subclasses__(), *ImageTests.__subclasses__()]
    assert {one.task.name for one in classes if one is not ImageTests} == set(TASKS)
