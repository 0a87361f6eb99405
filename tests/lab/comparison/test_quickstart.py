# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The main job: `hf-lecture quickstart --tiny` from an empty folder, once, and what it leaves there."""

import json
import subprocess
import sys

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.lab.comparison.baselines import make_baselines
from hf_lecture_models.lab.comparison.letters import score_by_letters
from hf_lecture_models.lab.comparison.python_reference import python_reference
from hf_lecture_models.lab.comparison.quickstart import (
    LECTURE_PAIRS,
    PAIRS,
    PROMPT,
    TINY_PARAGRAPHS,
    make_comparison,
    run_quickstart,
)
from tests.forked_python import HF_LECTURE, PATIENCE, ForkedPython
from tests.printed_commands import run_printed

CLASSES = {
    "feed_forward": "FeedForwardForCausalLM",
    "rnn": "RecurrentForCausalLM",
    "lstm": "RecurrentForCausalLM",
    "self_attention": "SelfAttentionForCausalLM",
}
pytestmark = pytest.mark.slow

pytest.importorskip("accelerate")
pytest.importorskip("matplotlib")
COMMAND = [*HF_LECTURE, "quickstart", "--tiny"]
NAMES = [baseline.name for baseline in make_baselines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder that the command was started in, and what the command printed."""
    place = tmp_path_factory.mktemp("empty")
    done = ForkedPython(*COMMAND, cwd=place)
    out, err = done.communicate()
    assert done.returncode == 0, err[-3000:]
    assert "\r" not in err  # bars are for terminals
    return place, out


@pytest.fixture(scope="module")
def results(finished):
    return json.loads((finished[0] / "quickstart" / "results.json").read_text(encoding="utf-8"))


def test_it_leaves_one_folder_with_models_cards_table_and_results(finished):
    place = finished[0]
    assert [path.name for path in place.iterdir()] == ["quickstart"]
    folder = place / "quickstart"
    assert {path.name for path in folder.iterdir()} == {*NAMES, "results.json", "comparison.png"}
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    for name in NAMES:
        files = {path.name for path in (folder / name).iterdir()}
        assert {"config.json", "model.safetensors", "tokenizer.json", "README.md", "facts.json"} <= files
        assert not files & {"checkpoints", "run.lock"}
    assert (folder / "lstm" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_figures_are_those_of_the_saved_models(finished, results):
    corpus = python_reference(TINY_PARAGRAPHS)
    assert [row["name"] for row in results["models"]] == NAMES
    for row in results["models"]:
        folder = finished[0] / "quickstart" / row["name"]
        model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        again = evaluate_language_model(model, tokenizer, corpus.validation, stream=True)
        assert again["perplexity"] == pytest.approx(row["validation"]["perplexity"], rel=1e-4)
        assert row["tokens_per_second"] == pytest.approx(row["tokens"] / row["seconds"])
        assert f"{row['test']['bits_per_byte']:.4g}" in (folder / "README.md").read_text(encoding="utf-8")
    perplexity = {row["name"]: row["validation"]["perplexity"] for row in results["models"]}
    # The order of words must help, whichever model learns it.
    assert all(value < perplexity["unigram"] for name, value in perplexity.items() if name != "unigram")


def test_a_fresh_process_completed_and_ranked(finished, results):
    assert list(results["reloaded"]) == NAMES
    known = [set(pair) for pair in make_comparison(tiny=True).pairs]
    assert known
    for name, used in results["reloaded"].items():
        assert used["class"] == CLASSES.get(name, "NGramForCausalLM")
        assert used["completion"].startswith(PROMPT)
        assert [{entry["sequence"] for entry in ranking} for ranking in used["rankings"]] == known
        assert used["completion"] in finished[1]


def test_the_end_is_one_table_of_pairs_and_models(finished, results):
    """Models of words judge pairs whose words they know, a model of letters all, the lectures' among them."""
    end = finished[1].partition("in a fresh process:\n")[2].splitlines()
    assert len(end) < 30
    assert max(map(len, end)) <= 160
    (header,) = (line.split()[-len(NAMES) - 1 :] for line in end if "letters" in line and NAMES[0] in line)
    assert header == [*NAMES, "letters"]
    comparison = make_comparison(tiny=True)
    for pair in [*comparison.pairs, *LECTURE_PAIRS]:
        cells = [line.removeprefix(sentence).split() for sentence in pair for line in end if line.startswith(sentence)]
        for number, name in enumerate(header):
            scores = [cell[number] for cell in cells]
            if pair in LECTURE_PAIRS and name in NAMES:
                assert scores == ["-", "-"]
                continue
            values = [float(score.rstrip("*")) for score in scores]
            preferred = values[1] > values[0]
            assert scores[preferred].endswith("*") or values[0] == values[1]
            assert not scores[not preferred].endswith("*")
    assert f"{results['letters'][LECTURE_PAIRS[0][0]]:.1f}" in finished[1]


def test_the_command_at_the_end_works_as_printed(finished):
    last = finished[1].splitlines()[-1]
    assert last == "  echo 'The value of the' | hf-lecture generate quickstart/self_attention --sample"
    status, out, err = run_printed(last, finished[0])
    assert (status, "Traceback" in err) == (0, False)
    assert out.startswith("The value of the ")


def test_the_whole_text_knows_the_words_of_all_pairs():
    comparison = make_comparison()
    assert comparison.pairs == PAIRS
    letters = score_by_letters(comparison.corpus.train, [sentence for pair in LECTURE_PAIRS for sentence in pair])
    (_, (keeper, housekeeper), _) = [[letters[sentence] for sentence in pair] for pair in LECTURE_PAIRS]
    assert keeper > housekeeper


def test_the_text_is_english_and_its_parts_do_not_overlap():
    corpus = python_reference()
    parts = [corpus.train, corpus.validation, corpus.test]
    assert corpus == python_reference()
    words = [sum(map(len, map(str.split, part))) for part in parts]
    assert words[0] > 7 * words[1] > 0 < 7 * words[2] < words[0] * 2
    sentences = [set(part) for part in parts]
    # Stock sentences may come back in another paragraph, whole paragraphs may not.
    assert len(sentences[0] & sentences[1]) < 0.05 * len(sentences[1])
    assert sum("the" in text.split() for text in corpus.validation) > len(corpus.validation) / 2
    assert not any(">>>" in text or "\n" in text or "  " in text for part in parts for text in part)


def test_another_folder_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(FileExistsError, match="`output`"):
        run_quickstart(tmp_path, tiny=True)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileExistsError):
        run_quickstart(tmp_path / "file", tiny=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "thesis.tex"]


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("hf_lecture_models.lab.comparison.run.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"accelerate and matplotlib.*hf-lecture-models\[train\]"):
        run_quickstart(tmp_path / "new")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.nightly
def test_the_full_quickstart_orders_the_models(tmp_path):
    done = subprocess.run(
        [sys.executable, *COMMAND[:-1]], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((tmp_path / "quickstart" / "results.json").read_text(encoding="utf-8"))
    perplexity = {row["name"]: row["validation"]["perplexity"] for row in results["models"]}
    assert perplexity["unigram"] > perplexity["rnn"] > perplexity["lstm"]
    assert perplexity["unigram"] > perplexity["trigram"]


def test_the_table_and_its_circumstances_are_printed(finished, results):
    place, out = finished
    folder = place / "quickstart"
    assert f"Python {results['python']}" in out
    for column in ("parameters", "seconds", "tokens/s", "validation perplexity", "test perplexity", "bits per byte"):
        assert column in out
    for row in results["models"]:
        assert row["title"] in out
        assert f"{row['validation']['perplexity']:.1f}" in out
        assert f"{row['test']['bits_per_byte']:.3f}" in out
        size = (
            f"{row['table_entries']:,} n-grams" if row["name"] in ("unigram", "trigram") else f"{row['parameters']:,}"
        )
        assert size in out, "an n-gram has no parameters: its card counts the n-grams that it stores"
        assert size.split()[0] in (folder / row["name"] / "README.md").read_text(encoding="utf-8")
