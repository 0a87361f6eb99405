# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The models of the site's live pages: their text, their sizes, and the cache of what was trained."""

import re
import shutil
from collections import Counter

import pytest

from docs._site import live_models
from docs._site.live_models import (
    TRIGRAM,
    cache_key,
    make_network,
    make_tokenizer,
    page_script,
    read_tales,
    train_model,
    write_weights,
)
from hf_lecture_models.lab.live.pages import PAGES, standalone_page

MOST_BYTES = 5_000_000


def test_tales_are_one_sentence_a_line_in_few_words():
    text = live_models.TALES.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z,.!?\" ]+[.!?]\"?", line)] == []
    assert [line for line in lines if line != " ".join(line.split())] == []
    # What somebody says may go on in the next line; what is said ends within its paragraph.
    assert [block for block in text.split("\n\n") if block.count('"') % 2] == []
    words = Counter(re.findall("[a-z]+", " ".join(lines).lower()))
    assert 12_000 < words.total() < 15_000
    assert len(words) < 1_300


def test_parts_of_the_tales_have_no_paragraph_in_common():
    corpus = read_tales()
    parts = [corpus.train, corpus.validation, corpus.test]
    assert len({text for part in parts for text in part}) == sum(map(len, parts))
    assert min(len(corpus.validation), len(corpus.test)) > 10


def test_pages_with_models_are_small_and_say_how_good_the_models_are():
    corpus = read_tales()
    tokenizer = make_tokenizer(corpus)
    assert {name for name, page in PAGES.items() if page.has_models} == live_models.PAGE_MODELS.keys()
    for name, page in live_models.PAGE_MODELS.items():
        # Networks of the real sizes, not trained.
        models = {
            title: train_model(recipe, corpus, tokenizer) if recipe == TRIGRAM else make_network(recipe, tokenizer)[0]
            for title, recipe in page.recipes.items()
        }
        script = page_script(page, models, corpus, tokenizer)
        assert len(standalone_page(PAGES[name], script).encode()) < MOST_BYTES
        assert script.count("on paragraphs that it has not seen") == len(models)
        unknown = [text for text in page.examples if tokenizer.unk_token_id in tokenizer(text).input_ids]
        assert unknown == []


def test_a_second_build_trains_nothing_and_an_interrupted_one_leaves_nothing(tmp_path, monkeypatch):
    scripts = {"next_word": "var LIVE = 1;\n", "attention": "const LIVE = 2;\n"}

    def interrupted(steps):
        raise KeyboardInterrupt

    monkeypatch.setattr(live_models, "make_scripts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_weights(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    monkeypatch.setattr(live_models, "make_scripts", lambda steps: scripts)
    first = write_weights(tmp_path)
    assert {path.stem: path.read_text(encoding="utf-8") for path in first} == scripts
    shutil.rmtree(tmp_path / "static")
    monkeypatch.setattr(live_models, "make_scripts", interrupted)
    assert write_weights(tmp_path) == first
    assert all(path.is_file() for path in first)


def test_what_is_kept_depends_on_the_text_and_the_steps(tmp_path, monkeypatch):
    first = cache_key(0)
    assert cache_key(0) == first != cache_key(1)
    monkeypatch.setattr(live_models, "ROOT", tmp_path)
    monkeypatch.setattr(live_models, "RECIPES", tmp_path)
    monkeypatch.setattr(live_models, "TALES", tmp_path / "tales.txt")
    monkeypatch.setattr(live_models, "__file__", str(tmp_path / "live_models.py"))
    keys = set()
    for name in ("tales.txt", "live_models.py", "lstm.yaml", "hf_lecture_models/layers/lstm.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        for text in ("a", "b"):
            (tmp_path / name).write_text(text, encoding="utf-8")
            keys.add(cache_key(0))
    assert len(keys) == 8


PLAY = "First Citizen:\nSpeak, speak.\n\nAll:\nWe know't,\nwe know't.\n\n"


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_a_second_text_is_offered_where_it_is_at_hand(tmp_path, monkeypatch):
    def untrained(recipe, corpus, tokenizer, steps):
        return train_model(recipe, corpus, tokenizer) if "trigram" in recipe else make_network(recipe, tokenizer)[0]

    monkeypatch.setattr(live_models, "train_model", untrained)
    monkeypatch.delenv("HF_LECTURE_DATA", raising=False)
    assert '\\"texts\\":[]' in live_models.make_scripts()["next_word"]
    (tmp_path / "tinyshakespeare").mkdir()
    (tmp_path / "tinyshakespeare" / "input.txt").write_text(PLAY * 10, encoding="utf-8")
    key = cache_key(0)
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    assert cache_key(0) != key
    corpus = live_models.read_shakespeare(live_models.shakespeare_file())
    assert {*corpus.train, *corpus.test} == {"Speak, speak.", "We know't, we know't."}
    scripts = live_models.make_scripts()
    assert scripts.keys() == {"attention", "next_word", "next_word_shakespeare"}
    for name in ("next_word", "next_word_shakespeare"):
        assert "next_word_shakespeare.js" in scripts[name]
        assert f'\\"file\\":\\"{name}.js\\"' in scripts[name]


@pytest.mark.slow
@pytest.mark.nightly
def test_trained_models_have_learnt_the_tales():
    scripts = live_models.make_scripts()
    found = {name: [float(x) for x in re.findall(r"perplexity ([0-9.]+) on", text)] for name, text in scripts.items()}
    trigram, lstm, self_attention = found["next_word"]
    assert lstm < 25 < trigram < 30
    assert self_attention < 30
    assert found["attention"][0] < 31
