# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture ladder`: a small text from file to table, and what every kind of bad text is told."""

import contextlib
import gzip
import io
import itertools
import json

import pytest

from hf_lecture_cli import app
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.comparison import ladder
from hf_lecture_models.lab.comparison.baselines import RECIPES, make_baselines
from hf_lecture_models.lab.comparison.corpus import read_corpus, split_lines
from hf_lecture_models.lab.comparison.ladder import DEFAULTS, Request, run_ladder, train_tokenizer
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from tests.forked_python import ForkedPython
from tests.printed_commands import run_printed

pytest.importorskip("accelerate")
pytest.importorskip("matplotlib")
NAMES = [baseline.name for baseline in make_baselines()]


def reload_in_forked_process(folders, prompt, pairs):
    """As the command does it, without the seconds that a new interpreter costs; quickstart's test starts one."""
    task = {"folders": {name: str(path) for name, path in folders.items()}, "prompt": prompt, "pairs": pairs}
    process = ForkedPython("-m", "hf_lecture_models.lab.comparison.reload")
    out, err = process.communicate(json.dumps(task))
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def sentences():
    """All 300 sentences of a small grammar, in a fixed order that is not the order of its rules."""
    people = ("ann", "bob", "eve", "our neighbour", "the old man")
    animals = ("cat", "dog", "horse", "white mouse", "owl")
    deeds, times = ("saw", "fed", "lost", "found again"), ("today .", "yesterday .", "at night .")
    all_of_them = [f"{p} {d} the {a} {t}" for p, d, a, t in itertools.product(people, deeds, animals, times)]
    return [all_of_them[number * 7 % 300] for number in range(300)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder that a ladder on a small text left, and what it printed."""
    place = tmp_path_factory.mktemp("own")
    with gzip.open(place / "zoo.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeff" + "\n\n".join(sentences()) + "\n")
    with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_lecture_models.lab.comparison.run.reload_in_fresh_process", reload_in_forked_process)
        # Minutes enough for every step, however busy the machine is.
        run_ladder(Request(files=[str(place / "zoo.txt.gz")], tiny=True, min_count=1, minutes=600), place / "out")
    return place, printed.getvalue()


def test_it_leaves_models_cards_table_and_results(finished):
    place, printed = finished
    assert sorted(path.name for path in place.iterdir()) == ["out", "zoo.txt.gz"]
    assert {path.name for path in (place / "out").iterdir()} == {*NAMES, "results.json", "comparison.png"}
    results = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in results["models"]] == NAMES
    assert results["command"] == f"hf-lecture ladder {place / 'zoo.txt.gz'} --min-count 1 --minutes 600 --tiny"
    for row in results["models"]:
        folder = place / "out" / row["name"]
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "on zoo.txt.gz" in card
        assert "license: unknown" in card
        assert "apache" not in card.lower()
        assert row["title"] in printed
        assert f"{row['test']['perplexity']:.1f}" in printed
        assert not {path.name for path in folder.iterdir()} & {"checkpoints", "run.lock"}
    perplexity = {row["name"]: row["test"]["perplexity"] for row in results["models"]}
    assert all(perplexity["unigram"] > value for name, value in perplexity.items() if name != "unigram")


def test_the_command_at_the_end_works_as_printed(finished):
    place, printed = finished
    prompt = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))["reloaded"]["lstm"]["completion"]
    status, out, err = run_printed(printed.splitlines()[-1], place)
    assert (status, "Traceback" in err) == (0, False)
    assert out.split()[:3] == prompt.split()[:3]


def test_networks_take_their_size_from_the_scale(finished):
    for name in NAMES[2:]:
        run = json.loads((finished[0] / "out" / name / "training.json").read_text(encoding="utf-8"))
        model = run["recipe"]["model"]
        usual = load_recipe(RECIPES / f"quickstart_{name}.yaml", recipe_class=CausalLMRecipe)
        assert (model["hidden_size"], run["recipe"]["epochs"]) == (48, 6)
        assert model.keys() == usual.model.keys()
        assert run["recipe"]["learning_rate"] == usual.learning_rate
        if "intermediate_size" in model:
            assert model["intermediate_size"] / 48 == usual.model["intermediate_size"] / usual.model["hidden_size"]


def test_the_split_is_the_stated_one(finished):
    place, printed = finished
    results = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))
    corpus, remarks = read_corpus([str(place / "zoo.txt.gz")], max_lines=400)
    assert "of every 10 blocks of 3 lines, one for validation and one for test" in remarks
    assert "299 blank lines left out" in remarks
    assert all(remark in printed for remark in remarks)
    assert sorted([*corpus.train, *corpus.validation, *corpus.test]) == sorted(sentences())
    for used in results["reloaded"].values():
        assert used["completion"].startswith(" ".join(corpus.test[0].split()[:3]))
        assert used["rankings"]
        for better, worse in used["rankings"]:
            assert sorted(better["sequence"].split()) == sorted(worse["sequence"].split())
            assert better["sequence"] in corpus.test or worse["sequence"] in corpus.test


@pytest.fixture
def no_fresh_process(monkeypatch):
    """Spare the seconds that a new process costs; the models of `finished` were used in one."""
    monkeypatch.setattr("hf_lecture_models.lab.comparison.run.reload_in_fresh_process", lambda *_: {})


@pytest.mark.slow
@pytest.mark.usefixtures("no_fresh_process")
def test_killed_before_a_network_is_listed_as_finished_it_continues(finished, tmp_path, monkeypatch):
    place, _ = finished
    networks = [baseline for baseline in make_baselines() if baseline.name in ("rnn", "lstm")]
    monkeypatch.setattr(ladder, "make_baselines", lambda order: networks)
    request = Request(files=[str(place / "zoo.txt.gz")], minutes=0.001, tiny=True)

    def killed(*_):
        raise KeyboardInterrupt

    for function in ("write_json", "_remove_checkpoints"):  # before and after the network is listed
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(f"hf_lecture_models.lab.comparison.run.{function}", killed)
            run_ladder(request, tmp_path / "out")
    assert [row["name"] for row in run_ladder(request, tmp_path / "out")["models"]] == ["rnn", "lstm"]
    assert not list(tmp_path.rglob("checkpoints"))


@pytest.fixture
def run(capsys):
    def command(*arguments):
        with pytest.raises(SystemExit) as stop:
            app(["ladder", *map(str, arguments)], prog_name="hf-lecture")
        captured = capsys.readouterr()
        return stop.value.code, captured.err

    return command


def test_bad_input_is_one_line_that_says_how_to_fix_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "good.txt": "\n".join(sentences()).encode(),
        "empty.txt": b"",
        "blank.txt": b"\n \n\t\n",
        "one.txt": b"a single line without an end",
        "nine.txt": b"a line of its own\n" * 9,
        "latin.txt": b"good\ncaf\xe9\n",
        "utf16.txt": "a\nb\n".encode("utf-16"),
        "short.txt.gz": gzip.compress(b"cut\n" * 99)[:-9],
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years of work", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    cases = [
        (["empty.txt"], "no text in empty.txt"),
        (["blank.txt"], "no text in blank.txt"),
        (["one.txt"], "has 1 different lines; at least 10"),
        (["nine.txt"], "at least 10"),
        (["latin.txt"], "latin.txt, line 2: not UTF-8"),
        (["utf16.txt"], "not UTF-8"),
        (["short.txt.gz"], "damaged gzip"),
        (["missing.txt"], "there is no file missing.txt"),
        (["folder"], "is a folder"),
        (["-"], "not standard input"),
        (["good.txt", "--validation", "empty.txt"], "no text in empty.txt"),
        (["good.txt", "--test", "missing.txt"], "missing.txt"),
        (["good.txt", "--tokenizer", "byte", "--vocab-size", 300], "--vocab-size"),
        (["good.txt", "--tokenizer", "byte", "--min-count", 3], "--min-count"),
        (["good.txt", "--vocab-size", 3], "vocab_size 3"),
        (["good.txt", "--min-count", 10**6], "min_count"),
        (["good.txt", "--output", "thesis"], "--output"),
        (["good.txt", "--output", "good.txt"], "--output"),
    ]
    for arguments, message in cases:
        status, err = run(*arguments)
        assert status == 1, arguments
        assert err.splitlines()[-1].startswith("hf-lecture ladder: "), err
        assert message in err.splitlines()[-1]
        assert "Traceback" not in err
    for arguments in (["good.txt", "--minutes", 0], ["good.txt", "--tokenizer", "letters"], []):
        assert run(*arguments)[0] == 2
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", sorted(DEFAULTS))
def test_the_training_script_reads_the_tokenizer_of_the_card(kind):
    """What the cards say under `tokenizer` makes the same tokenizer again in `training/train_causal_lm.py`."""
    texts = sentences()
    tokenizer, options = train_tokenizer(kind, texts, vocab_size=None, min_count=None)
    again = make_tokenizer({"type": kind, **options}, texts)
    assert type(again) is type(tokenizer)
    assert again.get_vocab() == tokenizer.get_vocab()


def test_the_split_is_spread_and_copies_do_not_cross_it(tmp_path):
    lines = [f"line number {number} of a rather long text" for number in range(4000)]
    parts, _ = split_lines(lines, ["validation", "test"])
    assert sorted(itertools.chain(*parts.values()), key=lines.index) == lines
    assert len(parts["validation"]) == len(parts["test"]) == 400
    assert parts["validation"][:20] == lines[160:180]
    assert parts["test"][-1] == lines[-1]
    long = [f"line number {number} of a text with some long lines" for number in range(50)]
    (tmp_path / "twice.txt").write_text("\n".join([*long, "yes", *long, "yes"]), encoding="utf-8")
    corpus, remarks = read_corpus([str(tmp_path / "twice.txt")])
    assert sorted([*corpus.train, *corpus.validation, *corpus.test]) == sorted([*long, "yes", "yes"])
    assert remarks[0] == "50 repeated lines of 40 characters or more left out"


def test_given_parts_are_taken_as_they_are(tmp_path):
    for name, lines in {"train": ["a b", "c d"], "valid": ["a b", "e"], "test": ["f"]}.items():
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    names = {part: [str(tmp_path / name)] for part, name in (("validation", "valid"), ("test", "test"))}
    corpus, remarks = read_corpus([str(tmp_path / "train")], **names)
    assert (corpus.train, corpus.validation, corpus.test) == (["a b", "c d"], ["a b", "e"], ["f"])
    assert remarks == ["50% of the validation lines also occur in the training text"]
    (tmp_path / "more").write_text("\n".join(sentences()), encoding="utf-8")
    corpus, remarks = read_corpus([str(tmp_path / "more")], test=names["test"])
    assert (len(corpus.train), len(corpus.validation), corpus.test) == (270, 30, ["f"])
    assert remarks == ["of every 10 blocks of 3 lines, one for validation"]
