# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`load_model`: which class and which processing class come back, and what is said where there is no model."""

import json
import logging
import socket
import threading
from pathlib import Path

import pytest
import transformers
from huggingface_hub import constants
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification

from hf_lecture_models.loading import check_location, load_model, short_name
from hf_lecture_models.models.bag_of_words import BagOfWordsConfig, BagOfWordsForSequenceClassification
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM, RecurrentModel
from hf_lecture_models.models.word2vec import Word2VecModel
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.hub.stand_in_hub import Repository, stand_in_hub

TEXTS = ["the cat saw the dog", "a dog saw the cat"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(TEXTS, progress=False)


@pytest.fixture
def save(tmp_path, tokenizer):
    """Saves a model with the tokenizer and returns the folder's name."""

    def folder_of(model, **config_changes):
        folder = tmp_path / type(model).__name__
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | config_changes
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return str(folder)

    return folder_of


def recurrent(cls, tokenizer):
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    return cls(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=4, num_hidden_layers=1, **ids))


def bert(cls, tokenizer, **options):
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return cls(transformers.BertConfig(vocab_size=len(tokenizer), **sizes, **options))


def test_the_saved_class_comes_back(save, tokenizer):
    models = [
        recurrent(RecurrentForCausalLM, tokenizer),
        recurrent(RecurrentModel, tokenizer),
        bert(transformers.BertModel, tokenizer),
        bert(transformers.BertForMaskedLM, tokenizer),
        bert(transformers.BertForPreTraining, tokenizer),
        bert(transformers.BertForTokenClassification, tokenizer, num_labels=5),
        BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=len(tokenizer), num_labels=3)),
        bert(transformers.BertForSequenceClassification, tokenizer, id2label={0: "bad", 1: "good"}),
    ]
    for model in models:
        loaded, loaded_tokenizer = load_model(save(model))
        assert type(loaded) is type(model)
        assert loaded_tokenizer.get_vocab() == tokenizer.get_vocab()
        for name, tensor in model.state_dict().items():
            assert tensor.equal(loaded.state_dict()[name]), name
    assert loaded.config.id2label == {0: "bad", 1: "good"}


def test_without_a_class_name_it_is_a_causal_language_model(save, tokenizer):
    folder = save(recurrent(RecurrentForCausalLM, tokenizer), architectures=None)
    assert type(load_model(folder)[0]) is RecurrentForCausalLM


def test_it_is_quiet_while_it_loads_and_no_longer(save, tokenizer, capfd):
    folder = Path(save(recurrent(RecurrentForCausalLM, tokenizer)))
    hf_logging = transformers.utils.logging
    before, bars = hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled()
    hf_logging.set_verbosity_info()
    hf_logging.enable_progress_bar()
    try:
        load_model(folder)
        assert (hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled()) == (hf_logging.INFO, True)
    finally:
        hf_logging.set_verbosity(before)
        if not bars:
            hf_logging.disable_progress_bar()
    assert capfd.readouterr() == ("", "")


def test_a_class_can_be_asked_for(save, tokenizer):
    folder = save(recurrent(RecurrentForCausalLM, tokenizer))
    assert type(load_model(folder, AutoModel)[0]) is RecurrentModel
    assert type(load_model(folder, AutoModelForCausalLM)[0]) is RecurrentForCausalLM
    with pytest.raises(ValueError, match="lacks weights of RecurrentForCausalLM: .*save_pretrained wrote"):
        load_model(save(recurrent(RecurrentModel, tokenizer)), AutoModelForCausalLM)
    encoder = save(bert(transformers.BertModel, tokenizer))
    with pytest.raises(ValueError, match="lacks weights of BertForSequenceClassification: classifier"):
        load_model(encoder, AutoModelForSequenceClassification)
    classifier = save(BagOfWordsForSequenceClassification(BagOfWordsConfig(vocab_size=len(tokenizer))))
    with pytest.raises(ValueError, match="BagOfWordsForSequenceClassification, which AutoModelForCausalLM cannot load"):
        load_model(classifier, AutoModelForCausalLM)
    # transformers loads them, with all weights, and each position sees the token that it predicts.
    for cls in (transformers.BertForMaskedLM, transformers.BertForPreTraining):
        with pytest.raises(ValueError, match=f"{cls.__name__}, which AutoModelForCausalLM cannot load"):
            load_model(save(bert(cls, tokenizer)), AutoModelForCausalLM)
    decoder = save(bert(transformers.BertLMHeadModel, tokenizer, is_decoder=True))
    assert type(load_model(decoder, AutoModelForCausalLM)[0]) is transformers.BertLMHeadModel


def test_a_folder_without_a_tokenizer_or_with_damaged_weights_is_refused(save, tokenizer):
    """transformers makes BERT a tokenizer of five tokens from the configuration alone."""
    folder = Path(save(bert(transformers.BertModel, tokenizer)))
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-8])
    with pytest.raises(ValueError, match=f"{folder}: its weights file is damaged or cut off .*; restore the file"):
        load_model(str(folder))
    weights.write_bytes(whole)
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(OSError, match=f"the folder {folder} has no tokenizer: save it there by tokenizer.save_pretr"):
        load_model(str(folder))


def test_a_model_of_images_comes_with_its_image_processor(tmp_path):
    processor = transformers.ViTImageProcessor(size={"height": 8, "width": 8})
    vision = transformers.ViTConfig(
        hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=8, patch_size=4
    )
    transformers.ViTForImageClassification(vision).save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    model, loaded = load_model(str(tmp_path))
    assert type(model) is transformers.ViTForImageClassification
    assert dict(loaded.size) == {"height": 8, "width": 8}


def test_an_arpa_file_is_an_ngram_model(tmp_path, tokenizer):
    path = str(tmp_path / "lm.arpa")
    NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha").save_arpa(path, tokenizer)
    model, loaded = load_model(path)
    assert type(model) is NGramForCausalLM
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert type(load_model(path, AutoModelForCausalLM)[0]) is NGramForCausalLM
    with pytest.raises(ValueError, match="holds NGramForCausalLM, which AutoModelForSequenceClassification cannot"):
        load_model(path, AutoModelForSequenceClassification)


@pytest.mark.parametrize("content", [b"2 2\ncat 1 0\ndog 2 0\n", b"cat 1 0\ndog 2 0\n"], ids=["word2vec", "glove"])
def test_a_file_of_word_vectors_is_a_model(tmp_path, content):
    for name in ("v.bin", "v.vec", "v.txt.gz"):
        path = tmp_path / name
        path.write_bytes(content)
        model, tokenizer = load_model(path)
        assert (type(model), load_model(path, AutoModel)[1].get_vocab()) == (Word2VecModel, tokenizer.get_vocab())
        assert model.embed_tokens.weight[tokenizer.convert_tokens_to_ids("dog")].tolist() == [2, 0]
        with pytest.raises(ValueError, match="holds Word2VecModel, which AutoModelForCausalLM cannot load"):
            load_model(path, AutoModelForCausalLM)
        with pytest.raises(OSError, match=rf"after `hf-lecture convert {path} FOLDER`$"):
            check_location(str(path))


def test_what_is_no_model_is_refused_before_anyone_is_asked(tmp_path, network):
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    (tmp_path / "v.md").write_bytes(b"2 1\ncat 1\ndog 2\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.arpa").mkdir()
    for name, message in {
        "missing.arpa.gz": "there is no ARPA file",
        str(tmp_path / "folder.arpa"): "is a folder: name an ARPA file",
        str(
            tmp_path / "notes.txt"
        ): "is a file: name a model's folder.*does not begin as word2vec's and GloVe's files do$",
        str(tmp_path / "v.md"): "KenLM's binary files$",
        str(tmp_path / "empty"): "has no config.json",
        str(tmp_path / "nowhere"): "there is no folder",
        "./nowhere": "there is no folder",
        "a/b/c": "there is no folder",
        "no such name": "the Hub has no such names",
    }.items():
        with pytest.raises(OSError, match=message):
            load_model(name)
    assert network.connections == 0


class Listener:
    """A server that hangs up on everybody, and counts them."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._hang_up, daemon=True).start()

    def _hang_up(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:  # closed
                return
            self.connections += 1
            connection.close()


def point_at(monkeypatch, url):
    """huggingface_hub reads HF_ENDPOINT when it is imported; this is what it then holds."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    # transformers keeps one client, which asks whomever it was made for; another test may have made it.
    monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")


@pytest.fixture
def network(monkeypatch):
    """This process believes that it is online, and that the Hub is a server that hangs up."""
    listener = Listener()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    point_at(monkeypatch, listener.url)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    yield listener
    listener.socket.close()


def test_a_mistyped_folder_without_a_network_is_said_at_once(network, monkeypatch, caplog, capfd):
    caplog.set_level(logging.WARNING)
    with pytest.raises(OSError, match="no folder or ARPA file quikstart, and the Hub cannot be reached: .+"):
        load_model("quikstart")
    assert network.connections == 1
    network.socket.close()
    with pytest.raises(OSError, match="no folder or ARPA file quick/start, and the Hub cannot be reached: .+"):
        load_model("quick/start")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="no folder or ARPA file quikstart, and HF_HUB_OFFLINE keeps from asking"):
        load_model("quikstart")
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_models_come_from_the_hub_or_from_its_cache(network, save, tokenizer, tmp_path, monkeypatch, caplog):
    model = recurrent(RecurrentForCausalLM, tokenizer)
    folder = Path(save(model))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with stand_in_hub("hf_token") as hub:
        hub.repositories["me/lstm"] = Repository(private=False, branches={})
        hub.repositories["me/lstm"].add("main", {path.name: path.read_bytes() for path in folder.iterdir()})
        point_at(monkeypatch, hub.url)
        monkeypatch.setenv("HF_TOKEN", "hf_token")
        with pytest.raises(OSError, match="no folder or ARPA file me/ltsm, and the Hub has no model me/ltsm"):
            load_model("me/ltsm")
        hub.fail["resolve"] = 503
        with pytest.raises(OSError, match="no folder or ARPA file me/lstm, and the Hub does not give it: .*503"):
            load_model("me/lstm")
        assert len(hub.requests) == 2
        hub.fail.clear()
        loaded, _ = load_model("me/lstm")
    point_at(monkeypatch, network.url)
    caplog.set_level(logging.WARNING)
    cached, cached_tokenizer = load_model("me/lstm")
    assert network.connections == 1
    assert caplog.records == []
    for again in (loaded, cached):
        assert all(tensor.equal(again.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert cached_tokenizer.get_vocab() == tokenizer.get_vocab()


def test_a_link_to_a_folder_has_the_name_that_the_user_gave_it(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "MiniLM").symlink_to(tmp_path / "model")
    monkeypatch.chdir(tmp_path / "model")
    assert [short_name(name) for name in ("../MiniLM", ".", "../model/")] == ["MiniLM", "model", "model"]
