# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The commands in processes of their own: what goes to which stream, streaming, errors in one line, interruption."""

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import typer
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from hf_lecture_models.analysis.neighbours import nearest_neighbours
from hf_lecture_models.cli import app
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.loading import load_model
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.recurrent import RecurrentConfig, RecurrentForCausalLM, RecurrentModel
from hf_lecture_models.terminal import find_program
from hf_lecture_models.tokenization.word import WordTokenizer

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
COMMAND = [sys.executable, "-c", "from hf_lecture_models.cli import main; main()"]
TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "", "a cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "trigram"
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", alpha=0.1, progress=False)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def in_this_process(monkeypatch, capsys, *arguments, stdin=None):
    """Exit status, output and errors of a command, without the seconds that a new process costs."""
    if stdin is not None:
        reader, writer = os.pipe()
        os.write(writer, stdin.encode() if isinstance(stdin, str) else stdin)
        os.close(writer)
        monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
    with pytest.raises(SystemExit) as stop:
        app([str(argument) for argument in arguments], prog_name="hf-lecture")
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def run(monkeypatch, capsys):
    return lambda *arguments, **options: in_this_process(monkeypatch, capsys, *arguments, **options)


@pytest.fixture
def start():
    """Start a command as a process with pipes; it is gone when the test is."""
    started = []

    def launch(*arguments, **options):
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background of a shell ignores Ctrl-C, and so would its children.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
            **options,
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        process.kill()
        process.communicate()


def test_score_prints_a_line_per_text_and_measures_at_the_end(run, folder):
    held_out = ["the cat ran", "", "a zebra ran"]
    status, out, err = run("score", folder, stdin="\n".join(held_out) + "\n")
    assert status == 0
    assert [line.split(maxsplit=4)[4:] for line in out.splitlines()] == [["the cat ran"], [], ["a zebra ran"]]
    model, tokenizer = load_model(str(folder))
    expected = evaluate_language_model(model, tokenizer, held_out)
    measures = dict(line.split(maxsplit=1) for line in err.splitlines()[1:])
    for key in ("perplexity", "perplexity_without_unk", "bits_per_byte"):
        assert float(measures[key]) == pytest.approx(expected[key], rel=1e-5)
    assert (measures["unknown"], measures["unk_token"]) == ("1", "<unk>")
    logs = [float(line.split()[0]) for line in out.splitlines()]
    assert sum(logs) == pytest.approx(expected["log_prob"], abs=1e-3)


def test_score_for_programs(run, folder, tmp_path):
    (tmp_path / "texts.txt").write_text("the cat\r\n\nran", encoding="utf-8")
    status, out, err = run("score", folder, tmp_path / "texts.txt", "--json", "--tokens")
    *rows, last = map(json.loads, out.splitlines())
    assert (status, err) == (0, "")
    assert [row["text"] for row in rows] == ["the cat", "", "ran"]
    assert [token["token"] for token in rows[0]["token_log_probs"]] == ["the", "cat", "</s>"]
    assert sum(token["log_prob"] for token in rows[0]["token_log_probs"]) == pytest.approx(rows[0]["log_prob"])
    assert last["summary"]["texts"] == 3
    _, out, _ = run("score", folder, tmp_path / "texts.txt", "--json", "--probability", "prefix")
    *rows, last = map(json.loads, out.splitlines())
    assert rows[1]["log_prob"] == 0.0
    assert "perplexity" not in last["summary"]


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """An untrained LSTM: what it says depends on all that it has read."""
    path = tmp_path_factory.mktemp("cli") / "lstm"
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids)
    RecurrentForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_score_as_one_stream(run, network):
    held_out = ["the cat ran", "", "a zebra ran", "the cat ran"]
    model, tokenizer = load_model(str(network))
    expected = evaluate_language_model(model, tokenizer, held_out, stream=True)
    status, out, err = run("score", network, "--stream", "--json", "--tokens", stdin="\n".join(held_out) + "\n")
    *rows, last = map(json.loads, out.splitlines())
    assert (status, err) == (0, "")
    assert [row["text"] for row in rows] == held_out
    assert rows[0]["log_prob"] != rows[3]["log_prob"]
    for key in ("perplexity", "bits_per_byte", "stream", "tokens"):
        assert last["summary"][key] == pytest.approx(expected[key])
    assert "stream  True" in run("score", network, "--stream", stdin="the cat\n")[2]
    status, _, err = run("score", network, "--stream", "--probability", "prefix", stdin="the cat\n")
    assert status == 2
    assert "not --probability prefix" in err


def test_neighbours(run, network, folder, tmp_path):
    model, tokenizer = load_model(str(network))
    expected = nearest_neighbours(model, tokenizer, ["cat", "the"], k=2)
    status, out, _ = run("neighbours", network, "cat", "the", "-k", 2)
    assert status == 0
    for line, found in zip(out.splitlines(), expected, strict=True):
        word, near = line.split("\t")
        assert word == found.word
        assert near.split() == [part for n in found.neighbours for part in (n.word, f"{n.similarity:.3f}")]
    options = ["-k", 5, "--json", "--output", "--metric", "euclidean", "--picture", tmp_path / "map.svg"]
    row = json.loads(run("neighbours", network, "cat", *options)[1])
    assert len(row["neighbours"]) == 5
    assert row["neighbours"][0]["similarity"] < 0
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    for arguments, message in [
        ([network, "zebra"], "'zebra' is not in the vocabulary"),
        ([network, "cat", "-k", 99], "lower k"),
        ([folder, "cat"], "no input embeddings"),
    ]:
        status, out, err = run("neighbours", *arguments)
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert message in err


def test_an_impossible_text_is_null_for_programs(run, tmp_path):
    tokenizer = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    _, out, _ = run("score", tmp_path, "--json", stdin="the cat\nthe zebra\n")
    *rows, last = map(json.loads, out.splitlines())
    assert [row["log_prob"] is None for row in rows] == [False, True]
    assert last["summary"]["perplexity"] is None
    _, out, _ = run("rank", tmp_path, stdin="the zebra\nthe cat\n")
    assert [line.split()[1] == "-inf" for line in out.splitlines()] == [False, True]


def test_rank_blocks_between_blank_lines(run, folder, tmp_path):
    (tmp_path / "more.txt").write_text("dog dog\nthe dog\n", encoding="utf-8")
    lines = "cat ran the\nthe cat ran\n\n\na dog\n"
    status, out, _ = run("rank", folder, "-", tmp_path / "more.txt", "--json", stdin=lines)
    groups = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [group["group"] for group in groups] == [0, 1, 2]
    assert [[entry["index"] for entry in group["ranking"]] for group in groups] == [[1, 0], [0], [1, 0]]
    _, out, _ = run("rank", folder, "--tokens", stdin=lines)
    first = out.splitlines()[0].split(maxsplit=3)
    assert (first[0], first[3]) == ("1", "the cat ran")
    assert float(first[1]) == pytest.approx(groups[0]["ranking"][0]["log_prob"], abs=1e-3)
    assert "" in out.splitlines()
    status, out, err = run("rank", folder, stdin="\n\n")
    assert (status, out) == (1, "")
    assert "nothing to rank" in err


NBEST = "-1\tcat the ran\n-2.5\tthe cat ran\n\n\n-1\ta dog\n-1\ta dog\n0.5\tdog a\n-99\t\n"


def test_rank_lists_of_a_recogniser(run, folder):
    status, out, err = run("rank", folder, "--scores", "--weight", 0.5, "--length-bonus", 0.1, "--json", stdin=NBEST)
    first, second = (json.loads(line)["ranking"] for line in out.splitlines())
    assert (status, err) == (0, "")
    assert [entry["sequence"] for entry in first] == ["the cat ran", "cat the ran"]
    assert [entry["index"] for entry in second] == [0, 1, 2, 3]
    model, tokenizer = load_model(str(folder))
    for entry in (*first, *second):
        log_prob = score_texts(model, tokenizer, [entry["sequence"]])[0].log_prob
        words = len(entry["sequence"].split())
        assert entry["total"] == pytest.approx(entry["score"] + 0.5 * log_prob + 0.1 * words, rel=1e-5)
    _, out, err = run("rank", folder, "--scores", "--weight", 0.5, "--tokens", stdin=NBEST)
    place, total, score, log_prob, words, sentence = out.splitlines()[0].split(maxsplit=5)
    assert (place, words, sentence) == ("1", "3", "the cat ran")
    assert float(total) == pytest.approx(float(score) + 0.5 * float(log_prob), abs=1e-3)
    assert err.split() == ["total", "score", "log_prob", "words", "sentence"]
    assert [line.split()[-1] for line in out.splitlines()[1:5]] == ["the", "cat", "ran", "</s>"]


def test_references_find_the_weight_of_a_recogniser(run, folder, tmp_path):
    (tmp_path / "right.txt").write_text("the cat ran\na dog\n", encoding="utf-8")
    options = ["--scores", "--references", tmp_path / "right.txt"]
    status, out, _ = run("rank", folder, *options, "--json", stdin=NBEST)
    *_, last = map(json.loads, out.splitlines())
    summary = last["summary"]
    assert status == 0
    assert summary["word_error_rate"] == summary["lowest_word_error_rate"] == 0
    assert summary["word_error_rate_without_model"] == pytest.approx(100 * (2 + 2) / 5)
    _, _, err = run("rank", folder, *options, stdin=NBEST)
    assert f"weight  {summary['weight']:.6g}" in err
    assert "word_error_rate  0.00 %" in err
    _, out, _ = run("rank", folder, *options, "--weight", 0, "--json", stdin=NBEST)
    assert json.loads(out.splitlines()[-1])["summary"]["word_error_rate"] == pytest.approx(80)
    status, _, err = run("rank", folder, *options, stdin="1\ta dog\n")
    assert (status, err.splitlines()[-1]) == (
        1,
        "hf-lecture rank: 2 references for 1 groups of hypotheses: give one line for each group",
    )


def test_damaged_lists_of_a_recogniser(run, folder, tmp_path):
    (tmp_path / "list.txt").write_text("-1\ta\n\n-1 the cat\n", encoding="utf-8")
    for files, stdin, message in [
        ([tmp_path / "list.txt"], None, "list.txt, line 3: no tab"),
        ([], "1\ta\nnan\tb\n", "standard input, line 2: the score 'nan' is no number"),
        ([], "\n", "nothing to rank"),
        ([tmp_path / "missing.txt"], None, "there is no file"),
    ]:
        status, out, err = run("rank", folder, *files, "--scores", "--weight", 1, "--json", stdin=stdin)
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert message in err
    for options, message in [(["--weight", 1], "need --scores"), (["--scores"], "--scores needs --weight")]:
        status, _, err = run("rank", folder, *options)
        assert status == 2
        assert message in err


def test_generate_with_a_second_models_opinion(run, network, folder, tmp_path):
    options = ["-p", "the cat", "--max-new-tokens", 4]
    _, alone, _ = run("generate", folder, *options)
    status, fused, _ = run("generate", network, *options, "--fuse", folder, "--fuse-weight", 1e4)
    assert (status, fused) == (0, alone)
    assert run("generate", network, *options, "--fuse", folder, "--fuse-weight", 0)[1] != alone
    status, _, err = run("generate", network, *options, "--fuse", folder)
    assert status == 2
    assert "go together" in err
    other = WordTokenizer.train(["another text"], progress=False)
    NGramForCausalLM.fit(["another text"], other, order=2, smoothing="add_alpha", progress=False).save_pretrained(
        tmp_path
    )
    other.save_pretrained(tmp_path)
    status, _, err = run("generate", network, *options, "--fuse", tmp_path, "--fuse-weight", 1)
    assert status == 1
    assert "different vocabularies" in err


def test_blimp(run, folder, tmp_path):
    pair = {"sentence_good": "the cat ran", "sentence_bad": "cat the ran", "field": "syntax"}
    pair |= {"linguistics_term": "binding", "UID": "order"}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "order.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    options = ["--data", tmp_path / "data", "--output", tmp_path / "out"]
    status, out, err = run("blimp", folder, *options)
    assert status == 0
    lines = [line.split() for line in out.splitlines() if line]
    assert ["binding", "100.0", "%"] in lines
    assert ["mean", "of", "1", "paradigms", "100.0", "%"] in lines
    assert "1 of 1  100.0 %  order" in err
    assert (tmp_path / "out" / "blimp.png").stat().st_size > 1000
    assert json.loads(run("blimp", folder, *options, "--json")[1])["pairs"] == 1
    status, _, err = run("blimp", folder, *options, "--text-form", "wikitext")
    assert (status, "remove it or name another folder" in err) == (1, True)
    status, _, err = run("blimp", folder, "--data", tmp_path / "out")
    assert (status, "name the folder of BLiMP's paradigms" in err) == (1, True)


def test_generate(run, folder, tmp_path):
    status, out, _ = run("generate", folder, "-p", "the cat  saw", "--prompt", "", "--max-new-tokens", 3, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [row["prompt"] for row in rows] == ["the cat  saw", ""]
    assert all(row["text"] == row["prompt"] + row["completion"] for row in rows)
    assert rows[0]["completion"].startswith(" ")
    assert not rows[1]["text"].startswith(" ")
    assert all(1 <= row["tokens"] <= 3 for row in rows)
    (tmp_path / "prompts.txt").write_text("the cat\na\n", encoding="utf-8")
    options = ["--sample", "--seed", 7, "--number", 2, "--max-new-tokens", 4]
    _, from_file, _ = run("generate", folder, tmp_path / "prompts.txt", *options)
    _, from_stdin, _ = run("generate", folder, *options, stdin="the cat\na\n")
    assert from_file == from_stdin
    assert len(from_file.splitlines()) == 4
    _, beams, _ = run("generate", folder, "--beams", 2, "--number", 2, stdin="the\n")
    assert len(beams.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "1"], "need --sample"),
        (["--number", "2"], "--beams 2"),
        (["--max-new-tokens", "0"], "max-new-tokens"),
        (["--sample", "--temperature", "0"], "--temperature"),
        (["--sample", "--temperature", "nan"], "above 0"),
        (["--sample", "--top-p", "0"], "--top-p"),
        (["--sample", "--top-p", "1.5"], "at most 1"),
    ],
)
def test_generate_refuses_options_without_effect(run, folder, arguments, message):
    status, _, err = run("generate", folder, "-p", "the", *arguments)
    assert status == 2
    assert message in err
    assert "do_sample" not in err


def test_convert_there_and_back(run, folder, tmp_path):
    status, _, err = run("convert", folder, tmp_path / "model.arpa.gz")
    assert (status, err) == (0, "")
    assert run("convert", tmp_path / "model.arpa.gz", tmp_path / "again")[0] == 0
    (text,) = (run("score", source, "--json", stdin="the zebra ran\n")[1] for source in [folder])
    for source in (tmp_path / "again", tmp_path / "model.arpa.gz"):
        other = run("score", source, "--json", stdin="the zebra ran\n")[1]
        assert json.loads(other.splitlines()[0])["log_prob"] == pytest.approx(
            json.loads(text.splitlines()[0])["log_prob"], rel=1e-5
        )
    assert "is there already" in run("convert", folder, tmp_path / "model.arpa.gz")[2]
    assert "must be an ARPA file" in run("convert", folder, tmp_path / "other")[2]


def test_errors_are_one_line_that_says_what_to_mend(run, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "weights.bin").write_bytes(b"\0")
    (tmp_path / "latin.txt").write_bytes(b"ok\ncaf\xe9\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"\0" * 20)
    cases = [
        (["score", tmp_path / "nowhere"], "there is no folder"),
        (["score", "no-such-model"], "no folder or ARPA file no-such-model"),
        (["score", tmp_path / "empty"], "no config.json"),
        (["score", tmp_path / "weights.bin"], "is a file"),
        (["rank", folder, tmp_path / "nothing.txt"], "there is no file"),
        (["generate", folder, "a prompt"], "--prompt"),
        (["score", folder, tmp_path / "latin.txt"], "line 2: not UTF-8"),
        (["score", tmp_path / "missing.arpa"], "there is no ARPA file"),
        (["convert", tmp_path / "missing.arpa", tmp_path / "new"], "there is no ARPA file"),
        (["score", folder, tmp_path / "empty"], "is a folder: name text files"),
        (["exec", "python", tmp_path / "missing.py"], "there is no file"),
        (["exec", "python", "-m", "no_such_module.part"], "there is no module no_such_module.part"),
        (["exec", "python", "-u", "x"], "python -c CODE"),
        (["score", broken], ""),
        (["convert", tmp_path / "nowhere", tmp_path / "x.arpa"], "there is no folder"),
        (["exec", "no-such-program"], "no console script no-such-program"),
        (["exec", "transfomers"], "did you mean transformers"),
    ]
    for arguments, message in cases:
        status, _, err = run(*arguments)
        assert status == 1, arguments
        last = err.splitlines()[-1]
        assert last.startswith(f"hf-lecture {arguments[0]}: "), err
        assert message in last
        assert "Traceback" not in err


def test_errors_in_standard_input(run, folder):
    status, _, err = run("score", folder, stdin=b"ok\ncaf\xe9\n")
    assert status == 1
    assert "standard input, line 2: not UTF-8" in err
    status, _, err = run("score", folder, stdin="")
    assert status == 1
    assert "no texts" in err


def test_all_files_are_checked_before_the_first_is_scored(run, folder, tmp_path):
    (tmp_path / "texts.txt").write_text("the cat\n", encoding="utf-8")
    for command in ("score", "rank", "generate"):
        status, out, err = run(command, folder, tmp_path / "texts.txt", tmp_path / "missing.txt")
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert "there is no file" in err
        assert ("--prompt" in err) == (command == "generate")


def test_a_model_that_lacks_weights_is_refused(run, folder, tmp_path):
    headless, renamed = tmp_path / "headless", tmp_path / "renamed"
    RecurrentModel(RecurrentConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1)).save_pretrained(headless)
    AutoTokenizer.from_pretrained(folder).save_pretrained(headless)
    shutil.copytree(folder, renamed)
    config = {"model_type": "lecture_recurrent", "vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1}
    (renamed / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for model in (headless, renamed):
        status, out, err = run("score", model, stdin="the cat\n")
        assert (status, out, len(err.splitlines())) == (1, "", 1)
        assert str(model) in err
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tied = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=4, n_layer=1, n_head=1))
    tied.save_pretrained(tmp_path / "tied")
    tokenizer.save_pretrained(tmp_path / "tied")
    assert load_model(str(tmp_path / "tied"))[0].config.model_type == "gpt2"
    del tied.transformer.wpe
    tied.save_pretrained(tmp_path / "tied")
    assert "transformer.wpe.weight; name a folder that GPT2LMHeadModel" in run("score", tmp_path / "tied")[2]


def test_the_readmes_commands_are_understood():
    section = README.partition("## In the terminal\n")[2].partition("\n## ")[0]
    lines = [shlex.split(line, comments=True) for line in section.splitlines() if line.startswith("    hf-lecture ")]
    assert len(lines) > 3
    group = typer.main.get_command(app)
    context = group.make_context("hf-lecture", ["score", "model"])
    known = set()
    for line in lines:
        arguments = line[1 : line.index("<")] if "<" in line else line[1:]
        _, command, rest = group.resolve_command(context, arguments)
        command.make_context(command.name, rest, parent=context)
        known |= {option for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", section)) <= known


def test_help_imports_nothing_beyond_the_package(start):
    code = (
        "import sys, hf_lecture_models; before = set(sys.modules)\n"
        "from hf_lecture_models.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new & {'rich', 'accelerate', 'datasets', 'matplotlib', 'pyarrow', 'pandas'}))\n"
        "print('hf_lecture_models.terminal' in sys.modules, 'hf_lecture_models.quickstart' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "quickstart" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["[]", "False False"]


def test_lines_are_answered_as_they_come_and_ctrl_c_is_quiet(start, folder):
    process = start("score", folder, "--json")
    for text in ("the cat", "a dog"):
        process.stdin.write(f"{text}\n".encode())
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["text"] == text
        assert math.isfinite(answer["log_prob"])
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.stderr.read().decode().split() == ["interrupted"]


def test_a_reader_that_leaves_is_no_error(start, folder, tmp_path):
    (tmp_path / "many.txt").write_text("the cat saw the dog\n" * 20_000, encoding="utf-8")
    process = start("score", folder, tmp_path / "many.txt", "--json")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) in (0, 1, 141)
    assert process.stderr.read() == b""


def test_exec_runs_other_programs_that_know_the_models(start, folder, tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from transformers import AutoModelForCausalLM\n"
        "print(type(AutoModelForCausalLM.from_pretrained(sys.argv[1])).__name__, sys.argv[2:])\n"
        "sys.exit(3)\n",
        encoding="utf-8",
    )
    process = start("exec", "python", tmp_path / "program.py", folder, "--help", "-x")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert out.decode().split(maxsplit=1) == ["NGramForCausalLM", "['--help', '-x']\n"]


def test_exec_finds_console_scripts_and_modules(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    run = find_program(["transformers", "version"])
    assert sys.argv == ["transformers", "version"]
    with pytest.raises(SystemExit) as stop:
        run()
    assert not stop.value.code
    run = find_program(["python", "-m", "json.tool", "--help"])
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 0
    assert "json" in capsys.readouterr().out


def test_exec_runs_code_and_files_as_python_does(monkeypatch, capsys, tmp_path):
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    find_program(["python", "-c", "import sys; f = lambda: sys.argv; print(__name__, f())", "-x"])()
    assert capsys.readouterr().out == "__main__ ['-c', '-x']\n"
    (tmp_path / "beside_it.py").write_text("VALUE = 7", encoding="utf-8")
    (tmp_path / "program.py").write_text("import beside_it; print(beside_it.VALUE)", encoding="utf-8")
    find_program(["python", str(tmp_path / "program.py")])()
    assert capsys.readouterr().out == "7\n"
    monkeypatch.delitem(sys.modules, "beside_it")
