# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Arms that start with what another model has learnt, and those that leave it out."""

from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("scipy")

from transformers import AutoModel, AutoTokenizer

from hf_lecture_models import ElmoConfig, ElmoForTokenClassification
from hf_lecture_models.lab.claims.claim import Case, Trial, load_claims
from hf_lecture_models.lab.claims.methods.ablation import leave_out
from hf_lecture_models.lab.claims.methods.pre_training import start_from_pretrained
from hf_lecture_models.lab.claims.methods.training import train_model
from hf_lecture_models.lab.claims.trial import run_trial

SHAPE = {"char_embedding_size": 4, "char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "num_labels": 3}
VECTORS = {"use": "word_vectors", "task": "word_vectors", "recipe": "word2vec_tiny", "epochs": 1}
TAGGER = {"task": "token_classification", "recipe": "recurrent_tagger_tiny", "tokenizer.min_count": 2}


def test_words_start_with_the_vectors_of_the_other_model_and_keep_them_where_no_sentence_has_them(tmp_path):
    trained = train_model(TAGGER | {"pre_training": VECTORS, "epochs": 1}, 3, tmp_path / "one")
    (place,) = tmp_path.glob("pretrained-*")
    theirs = AutoModel.from_pretrained(place).get_input_embeddings().weight
    vocabulary, own = trained.processor.get_vocab(), trained.model.get_input_embeddings().weight
    known = AutoTokenizer.from_pretrained(place).get_vocab()
    assert "castle" in known  # in no tagged sentence
    assert torch.equal(own[vocabulary["castle"]], theirs[known["castle"]])
    start = train_model(TAGGER | {"pre_training": VECTORS, "untrained": True}, 3, tmp_path / "two")
    assert torch.equal(start.model.get_input_embeddings().weight[vocabulary["town"]], theirs[known["town"]])
    assert not torch.equal(own[vocabulary["town"]], theirs[known["town"]])
    alone = train_model(TAGGER | {"untrained": True}, 3, tmp_path / "three").processor.get_vocab()
    assert "lamp" in alone.keys() - known.keys()
    assert vocabulary.keys() == alone.keys() | known.keys()
    assert list(tmp_path.glob("pretrained-*")) == [place]


def test_the_other_model_is_trained_once_for_each_seed_or_once_for_all(tmp_path):
    calls = []

    def train(settings, seed, folder):
        calls.append((settings, seed, folder))
        saved = SimpleNamespace(save_pretrained=lambda stage: (stage / "seed").write_text(str(seed)))
        return SimpleNamespace(model=saved, processor=saved)

    def start(seed, name, **changes):
        settings = {"task": "x", "pre_training": {"use": "from_pretrained", "recipe": "y", **changes}}
        found = start_from_pretrained(settings, seed, tmp_path / name, train)
        assert found.keys() == {"task", "from_pretrained"}
        return found["from_pretrained"]

    first, again, other = start(1, "one"), start(1, "two"), start(2, "three")
    assert first == again != other
    assert calls == [({"recipe": "y"}, 1, tmp_path / "one"), ({"recipe": "y"}, 2, tmp_path / "three")]
    calls.clear()
    assert start(1, "four", once=True) == start(2, "five", once=True)
    assert [seed for _, seed, _ in calls] == [0]
    assert start(1, "six", epochs=2) != first
    assert start_from_pretrained({"task": "x"}, 0, tmp_path, train) == {"task": "x"}
    with pytest.raises(ValueError, match="pre_training.use is 'model'; it must be one of from_pre"):
        start(1, "seven", use="model")


def test_measurements_of_the_same_code_have_their_folders_side_by_side(tmp_path):
    parents = []

    def method(settings, seed, folder, part):
        parents.append(folder.parent)
        return [settings["level"] + seed]

    trial = Trial("x", {"case": Case({"one": {"level": 1}, "two": {"level": 2}})}, seeds=(0, 1, 2))
    for stamp in ("code", "other code"):
        run_trial(trial, {"x": method}, tmp_path, stamp)
    assert len(set(parents[:6])) == len(set(parents[6:])) == 1
    assert parents[1] != parents[7]


def test_a_reader_without_features_does_not_depend_on_the_language_models():
    torch.manual_seed(0)
    model = ElmoForTokenClassification(ElmoConfig(**SHAPE)).eval()
    ids = torch.randint(1, 200, (1, 4, 50))

    def changes():
        with torch.no_grad():
            before = model(ids).logits
            model.base_model.projection.weight.add_(1)
            return not torch.equal(model(ids).logits, before)

    assert changes()
    leave_out(model, "features")
    assert not changes()
    assert not model.reader.mix.gamma.requires_grad
    with pytest.raises(ValueError, match="has no SoftmaxLayerMix, so features cannot be left out"):
        leave_out(torch.nn.Linear(2, 2), "features")


def test_taggers_with_and_without_features_learn_equally_many_weights():
    def weights(config, given):
        model = ElmoForTokenClassification(ElmoConfig(**config, num_labels=17))
        own = [*model.reader.parameters(), *model.classifier.parameters()]
        zeros = 0 if given else 2 * model.reader.lstm.forwards.rnn.weight_ih_l0.shape[0] * model.config.output_size
        return sum(one.numel() for one in own) - zeros

    arms = load_claims()["elmo_features"].experiment.cases["1,000 sentences, beside words alone"].arms
    features, alone = arms["ELMo's features"], dict(arms["words alone"]["model"])
    shape = {"char_filters": [[1, 2]], "max_characters_per_token": alone["max_characters_per_token"]}
    shape |= {name: features["pre_training"][f"model.{name}"] for name in ("hidden_size", "projection_size")}
    shape["task_hidden_size"] = features["model.task_hidden_size"]
    alone.pop("model_type")
    assert weights(shape, given=True) == pytest.approx(weights(alone, given=False), rel=0.01)
