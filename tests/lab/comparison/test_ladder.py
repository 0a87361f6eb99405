# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture ladder`: a small text from file to table, and what every kind of bad text is told."""

import contextlib
import gzip
import io
import itertools
import json
import signal

import pytest
import yaml

from hf_lecture_cli import app
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.lab.comparison import corpus as corpus_module
from hf_lecture_models.lab.comparison import ladder
from hf_lecture_models.lab.comparison.baselines import RECIPES, Baseline, make_baselines
from hf_lecture_models.lab.comparison.corpus import read_corpus, split_lines
from hf_lecture_models.lab.comparison.ladder import DEFAULTS, Request, make_comparison, run_ladder, train_tokenizer
from hf_lecture_models.tasks.core.factories import make_tokenizer
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from tests.forked_python import HF_LECTURE, ForkedPython
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


def test_examples_are_of_known_words_where_the_test_text_has_any(tmp_path):
    lines = [*("the cat saw the dog again" for _ in range(90)), *(f"a new word{n} is in line {n}" for n in range(10))]
    (tmp_path / "train").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "test").write_text("an unknown word stands here\nthe dog saw the cat\n", encoding="utf-8")
    comparison = make_comparison(Request(files=[str(tmp_path / "train")], test=[str(tmp_path / "test")]))
    assert (comparison.prompt, comparison.pairs) == ("the dog saw ", [["the dog saw the cat", "the saw dog the cat"]])


@pytest.fixture
def no_fresh_process(monkeypatch):
    """Spare the seconds that a new process costs; the models of `finished` were used in one."""
    monkeypatch.setattr("hf_lecture_models.lab.comparison.run.reload_in_fresh_process", lambda *_: {})


@pytest.mark.slow
@pytest.mark.usefixtures("no_fresh_process")
def test_an_interrupted_comparison_continues(tmp_path, monkeypatch, capsys):
    (tmp_path / "text").write_text("\n".join(sentences()), encoding="utf-8")
    unigram, *_ = make_baselines()
    fitted = []

    def train(comparison, folder):
        fitted.append(folder.name)
        if fitted == ["first", "second"]:
            raise KeyboardInterrupt
        return unigram.train(comparison, folder)

    baselines = [Baseline(name, name, train) for name in ("first", "second")]
    monkeypatch.setattr(ladder, "make_baselines", lambda order: baselines)
    request = Request(files=[str(tmp_path / "text")])
    with pytest.raises(KeyboardInterrupt):
        run_ladder(request, tmp_path / "out")
    assert "the same command goes on" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.unfinished", "text"]
    with pytest.raises(FileExistsError, match="other texts or options"):
        run_ladder(Request(files=request.files, seed=1), tmp_path / "out")
    results = run_ladder(request, tmp_path / "out")
    assert fitted == ["first", "second", "second"]
    assert [row["name"] for row in results["models"]] == ["first", "second"]
    assert "finished before: first" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text"]
    (tmp_path / "out" / "notes").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(ladder, "make_baselines", lambda order: baselines[1:])
    run_ladder(request, tmp_path / "out")
    names = {"second", "notes", "results.json", "comparison.png"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names


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


@pytest.mark.slow
@pytest.mark.usefixtures("no_fresh_process")
def test_a_short_time_means_few_steps(finished, tmp_path, monkeypatch):
    place, _ = finished
    monkeypatch.setattr(ladder, "make_baselines", lambda order: make_baselines()[:4])
    run_ladder(Request(files=[str(place / "zoo.txt.gz")], minutes=0.001, tiny=True), tmp_path / "out")
    short = json.loads((tmp_path / "out" / "rnn" / "training.json").read_text(encoding="utf-8"))
    whole = json.loads((place / "out" / "rnn" / "training.json").read_text(encoding="utf-8"))
    assert short["step"] == short["recipe"]["max_steps"] < whole["step"]
    assert whole["recipe"]["epochs"] == whole["history"][-1]["epoch"]


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


def test_the_recipe_of_a_network_names_the_tokenizer_that_it_was_trained_with(finished):
    folder = finished[0] / "out" / "lstm"
    tokenizer = {"type": "word", "vocab_size": 10_000, "min_count": 1}
    assert yaml.safe_load((folder / "recipe.yaml").read_text(encoding="utf-8"))["tokenizer"] == tokenizer
    for name in ("lstm", "trigram"):
        facts = json.loads((finished[0] / "out" / name / "facts.json").read_text(encoding="utf-8"))
        assert facts["recipe"]["tokenizer"] == tokenizer


def test_a_limit_of_lines_holds_for_each_file(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("\n".join(f"{name}{number}" for number in range(40)), encoding="utf-8")
    corpus, remarks = read_corpus([str(tmp_path / "a"), str(tmp_path / "b")], max_lines=10)
    assert sorted([*corpus.train, *corpus.validation, *corpus.test]) == [
        f"{name}{n}" for name in "ab" for n in range(10)
    ]
    assert remarks[0] == "only the first 10 lines of each file (--tiny)"
    _, remarks = read_corpus([str(tmp_path / "a"), str(tmp_path / "b")], max_lines=40)
    assert not any("only the first" in remark for remark in remarks)


def test_text_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "MAX_BYTES", 1000)
    (tmp_path / "long.txt").write_text("word " * 300, encoding="utf-8")
    with pytest.raises(ValueError, match=r"long\.txt goes beyond .* give a part"):
        read_corpus([str(tmp_path / "long.txt")])
    monkeypatch.undo()
    monkeypatch.setattr(ladder, "MAX_TOKENS", 1000)
    (tmp_path / "long.txt").write_text("\n".join(sentences()), encoding="utf-8")
    with pytest.raises(ValueError, match=r"long\.txt has 1,\d\d\d training tokens.* give a part"):
        make_comparison(Request(files=[str(tmp_path / "long.txt")]))


def test_text_without_white_space_is_not_read_as_words(tmp_path, capsys):
    (tmp_path / "chinese.txt").write_text("天地玄黄，宇宙洪荒。日月盈昃。\n春花秋月何时了\n" * 20, encoding="utf-8")
    comparison = make_comparison(Request(files=[str(tmp_path / "chinese.txt")]))
    assert "hardly any white space" in capsys.readouterr().out
    assert comparison.facts["tokenizer"] == {"type": "char", "vocab_size": 4000, "min_count": 2}
    assert comparison.unit == "characters"
    assert comparison.prompt == "春花秋"
    assert comparison.pairs[0] == ["春花秋月何时了", "春花月秋何时了"]
    (tmp_path / "german.txt").write_text("Der Schnee fällt leise .\nEs ist spät geworden .\n" * 20, encoding="utf-8")
    assert make_comparison(Request(files=[str(tmp_path / "german.txt")])).unit == "words"


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


@pytest.mark.cases(0, 1)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_a_network_loses_nothing(tmp_path, name, status):
    (tmp_path / "zoo").write_text("\n".join(sentences()), encoding="utf-8")
    command = [*HF_LECTURE, "ladder", "zoo", "--tiny"]
    process = ForkedPython(*command, cwd=tmp_path)
    for line in process.stderr:
        if line.startswith("step "):
            break
    process.send_signal(signal.Signals[name])
    _, err = process.communicate()
    assert process.returncode == status
    assert "Traceback" not in err
    assert (tmp_path / "ladder.unfinished").is_dir()
    done = ForkedPython(*command, cwd=tmp_path)
    out, err = done.communicate()
    assert done.returncode == 0, err[-3000:]
    assert "finished before: Unigram" in out
    assert "resuming from" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ladder", "zoo"]
