# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exec lm_eval`: a multiple-choice task and rolling perplexity, with our own figures.

lm_eval puts `<s>` in front of a rolling text itself and predicts what the tokenizer gives for the text, so that
`add_bos_token=False` is due there; for choices it takes the tokenizer's `<s>`. It adds no end: `</s>` is written out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hf_lecture_models import evaluate_language_model
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.studies.prompt_items import read_prompt_data, with_shots
from hf_lecture_models.lab.studies.prompt_templates import PromptTemplate
from hf_lecture_models.lab.studies.prompting import PromptItem, points, score_items
from hf_lecture_models.tasks.translation.translate import translate
from tests.forked_python import PATIENCE
from tests.interop.trained_models import TEXTS, TOKENIZERS
from tests.lab.studies.test_prompting import stock_model, stock_tokenizer
from tests.tasks.small_translator import PAIRS, make_translator, save_translator

pytestmark = pytest.mark.slow

lm_eval = pytest.importorskip("lm_eval")

CHOICES = [
    {"context": "the cat sat", "choices": ["on the mat .", "the old"], "label": 0},
    {"context": "a dog", "choices": ["bird sang in a tree .", "saw", "saw the cat"], "label": 1},
    {"context": "one", "choices": ["tree .", "bird", "log ."], "label": 2},
]
CHOICE_TASK = """\
task: ours_choice
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/choices.jsonl}, cache_dir: FOLDER}
test_split: test
output_type: multiple_choice
doc_to_text: "{{context}}"
doc_to_choice: choices
doc_to_target: label
metric_list: [{metric: acc}]
"""
# As lm_eval, and so the BabyLM challenge of 2023 and 2024, has BLiMP's.
PAIRS_TASK = """\
task: ours_minimal
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/minimal.jsonl}, cache_dir: FOLDER}
test_split: test
output_type: multiple_choice
doc_to_text: ""
target_delimiter: ""
doc_to_choice: "{{[sentence_good, sentence_bad]}}"
doc_to_target: 0
metric_list: [{metric: acc}]
"""
# Prompts and answers as `hf_lecture_models.lab.studies.prompting_task` writes them.
PROMPT_TASK = """\
task: ours_prompt
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/items.jsonl}, cache_dir: FOLDER}
test_split: test
output_type: multiple_choice
doc_to_text: "{{prompt}}"
doc_to_choice: answers
doc_to_target: label
metric_list: [{metric: acc}, {metric: acc_norm}, {metric: acc_mutual_info}]
"""
ROLLING_TASK = """\
task: ours_NAME
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/NAME.jsonl}, cache_dir: FOLDER}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}} </s>"
metric_list: [{metric: word_perplexity}, {metric: bits_per_byte}]
"""
GENERATION_TASK = """\
task: ours_generate
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/prompts.jsonl}, cache_dir: FOLDER}
test_split: test
output_type: generate_until
doc_to_text: "{{context}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: [" old log", "mat ."], max_gen_toks: 9, do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
PROMPTS = [
    {"context": "the cat", "answer": "sat on the"},
    {"context": "a dog", "answer": "saw the"},
    {"context": "one", "answer": "bird sang in a tree ."},
]
MINIMAL = [
    {"sentence_good": "the cat sat on the mat .", "sentence_bad": "the cat on sat the mat ."},
    {"sentence_good": "a bird sang", "sentence_bad": "a the sang"},
    {"sentence_good": "the zebra sat", "sentence_bad": "the yak sat"},  # unknown words: a tie for models of words
]
LONG = " ".join(TEXTS * 150)  # 3,150 words: more than lm_eval gives a model at once unless told otherwise


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    rows = {
        "choices": CHOICES,
        "prompts": PROMPTS,
        "minimal": MINIMAL,
        "texts": [{"text": text} for text in TEXTS],
        "long": [{"text": LONG}],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    yaml = {"choices": CHOICE_TASK, "generate": GENERATION_TASK, "texts": ROLLING_TASK, "long": ROLLING_TASK}
    yaml["minimal"] = PAIRS_TASK
    for name, task in yaml.items():
        task = task.replace("FOLDER", str(folder)).replace("NAME", name)
        (folder / f"{name}.yaml").write_text(task, encoding="utf-8")
    return folder


def load(folder: str) -> tuple[Any, Any]:
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def evaluate(task: str, tasks: Path, **model_args: Any) -> dict[str, Any]:
    """Figures and samples of one task, in this process."""
    found = lm_eval.simple_evaluate(
        model="hf",
        model_args=model_args,
        tasks=[task],
        device="cpu",
        batch_size=2,  # padded batches
        task_manager=lm_eval.tasks.TaskManager(include_path=str(tasks), include_defaults=False),
        bootstrap_iters=0,
    )
    return {**found["results"][task], "samples": found["samples"][task]}


def prefix(model: Any, tokenizer: Any, text: str) -> float:
    return score_texts(model, tokenizer, [text], probability="prefix")[0].log_prob


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_choices_have_our_log_probabilities(name: str, folders: dict[str, str], tasks: Path) -> None:
    found = evaluate("ours_choice", tasks, pretrained=folders[name])
    right = []
    for sample in sorted(found["samples"], key=lambda sample: sample["doc_id"]):
        row = CHOICES[sample["doc_id"]]
        scores = [
            prefix(*load(folders[name]), f"{row['context']} {choice}") - prefix(*load(folders[name]), row["context"])
            for choice in row["choices"]
        ]
        assert [score for score, _ in sample["filtered_resps"]] == pytest.approx(scores, abs=1e-4)
        right.append(max(range(len(scores)), key=scores.__getitem__) == row["label"])
    assert found["acc,none"] == pytest.approx(sum(right) / len(right))
    assert right[0]


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_minimal_pairs_have_our_log_probabilities_and_ties_count_as_right(
    name: str, folders: dict[str, str], tasks: Path
) -> None:
    found = evaluate("ours_minimal", tasks, pretrained=folders[name])
    right = []
    for sample in sorted(found["samples"], key=lambda sample: sample["doc_id"]):
        scores = [prefix(*load(folders[name]), text) for text in MINIMAL[sample["doc_id"]].values()]
        theirs = [score for score, _ in sample["filtered_resps"]]
        assert theirs == pytest.approx(scores, abs=1e-4)
        right.append(theirs[0] >= theirs[1])
    assert found["acc,none"] == pytest.approx(sum(right) / len(right))


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_rolling_perplexity_is_ours(name: str, folders: dict[str, str], tasks: Path) -> None:
    found = evaluate("ours_texts", tasks, pretrained=folders[name], add_bos_token=False)
    # The blank before the end counts for those who read bytes.
    ours = evaluate_language_model(*load(folders[name]), [f"{text} " for text in TEXTS])
    assert found["word_perplexity,none"] == pytest.approx(ours["word_perplexity"], rel=1e-4)
    # They count the spelling of the end in bytes; one byte here.
    theirs = sum(len(f"{text} </s>".encode()) for text in TEXTS)
    assert found["bits_per_byte,none"] == pytest.approx(ours["bits_per_byte"] * ours["bytes"] / theirs, rel=1e-4)


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_generation_ends_at_the_stop_sequences(name: str, folders: dict[str, str], tasks: Path) -> None:
    found = evaluate("ours_generate", tasks, pretrained=folders[name])
    model, tokenizer = load(folders[name])
    for sample in found["samples"]:
        prompt = tokenizer(PROMPTS[sample["doc_id"]]["context"], return_tensors="pt")
        ids = model.generate(**prompt, max_new_tokens=9, do_sample=False)[0, prompt["input_ids"].shape[1] :]
        text = tokenizer.decode(ids, skip_special_tokens=True)
        for stop in (" old log", "mat ."):
            text = text.split(stop)[0]
        assert [answer.strip() for answer in sample["filtered_resps"]] == [text.strip()]


def test_a_recurrent_model_reads_a_text_of_any_length(folders: dict[str, str], tasks: Path) -> None:
    options = {"pretrained": folders["recurrent"], "add_bos_token": False}
    ours = evaluate_language_model(*load(folders["recurrent"]), [LONG])
    assert ours["tokens"] > 3000
    whole = evaluate("ours_long", tasks, max_length=100_000, **options)["word_perplexity,none"]
    assert whole == pytest.approx(ours["word_perplexity"], rel=1e-4)
    # Unless told otherwise lm_eval cuts at 2,048 tokens; the state then begins anew.
    cut = evaluate("ours_long", tasks, max_length=3, **options)["word_perplexity,none"]
    assert cut != pytest.approx(whole, rel=0.01)


def prompt_items(folder: Path) -> list[PromptItem]:
    """Items with 0 and 2 examples, written with their task into the folder."""
    rows = [f"{word},{number % 2}" for number, word in enumerate(("cat", "dog", "bird", "log", "mat", "tree"))]
    (folder / "rows.csv").write_text("\n".join(["animal,label", *rows]), encoding="utf-8")
    own = {"prompt": "the old {animal}", "answers": ["sat on the mat .", "sang"], "first_for_shots": 3}
    template = PromptTemplate(**own)
    data = read_prompt_data(template, [str(folder / "rows.csv")])
    items = [*with_shots(data, template, 0), *with_shots(data, template, 2)]
    lines = [json.dumps({"prompt": one.prompt, "answers": list(one.answers), "label": one.label}) for one in items]
    (folder / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "items.yaml").write_text(PROMPT_TASK.replace("FOLDER", str(folder)), encoding="utf-8")
    return items


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", ["gpt1", "recurrent", "ngram", "gpt2", "gpt2, long prompts"])
def test_prompts_have_our_scores(name: str, folders: dict[str, str], tmp_path: Path) -> None:
    """Item by item: the sum, per character (acc_norm), and divided by P(answer given nothing) (acc_mutual_info)."""
    options: dict[str, Any] = {}
    if name.startswith("gpt2"):
        tokenizer = stock_tokenizer()
        # Of a text that is too long, lm_eval feeds the end, and never the last token.
        positions, options = (8, {"max_length": 7}) if "long" in name else (64, {})
        model = stock_model(tokenizer, positions)
        for part in (model, tokenizer):
            part.save_pretrained(tmp_path / "gpt2")
        folder = str(tmp_path / "gpt2")
    else:
        folder = folders[name]
        model, tokenizer = load(folder)
    items = prompt_items(tmp_path)
    measured, rows = score_items(model, tokenizer, items, unconditional="")
    assert (measured["cut_prompts"] > 0) == ("long" in name)
    found = evaluate("ours_prompt", tmp_path, pretrained=folder, **options)
    samples = sorted(found["samples"], key=lambda sample: sample["doc_id"])
    assert len(samples) == len(items) == 6
    for sample, row in zip(samples, rows, strict=True):
        assert [score for score, _ in sample["filtered_resps"][:2]] == pytest.approx(row["sum"], abs=1e-4)
        for ours, theirs in (("sum", "acc"), ("per_character", "acc_norm"), ("divided", "acc_mutual_info")):
            if len({*row[ours]}) > 1:  # of equal scores lm_eval takes one, by rounding
                assert sample[theirs] == points(row[ours], row["label"])
    for ours, theirs in (("sum", "acc"), ("per_character", "acc_norm"), ("divided", "acc_mutual_info")):
        if not measured["scores"][ours]["ties"]:
            assert found[f"{theirs},none"] == pytest.approx(measured["scores"][ours]["accuracy"])
    assert not measured["scores"]["sum"]["ties"]


def test_each_side_of_a_translator_is_read_by_its_own_vocabulary(tmp_path: Path) -> None:
    """lm_eval encodes what the decoder is to write without special tokens, and has no other word for it."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    folder = save_translator(tmp_path / "model", "ours", joint_vocabulary=False)
    model, pair = make_translator("ours", joint_vocabulary=False)
    theirs = HFLM(pretrained=str(folder), backend="seq2seq", device="cpu")
    source, target = PAIRS[3]
    labels = torch.tensor([pair.target.encode(target, add_special_tokens=False)])
    with torch.no_grad():
        logits = model(torch.tensor([pair.source.encode(source)]), labels=labels).logits
    expected = logits.log_softmax(-1).gather(2, labels.unsqueeze(-1)).sum()
    ((found, _),) = theirs.loglikelihood([Instance("loglikelihood", {}, (source, target), 0)])
    assert found == pytest.approx(float(expected), abs=1e-4)
    (written,) = translate(model, pair, [source], max_new_tokens=5, num_beams=1)
    options = {"until": ["none"], "max_gen_toks": 5, "num_beams": 1}
    (text,) = theirs.generate_until([Instance("generate_until", {}, (source, options), 0)])
    assert written.text
    assert text.strip().startswith(written.text)  # they count the source's tokens as new ones


def test_the_command(folders: dict[str, str], tasks: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from hf_lecture_cli import main; main()", "exec", "lm_eval", "run"]
    command += ["--model", "hf", "--model_args", f"pretrained={folders['gpt1']},add_bos_token=False"]
    command += ["--tasks", "ours_texts", "--include_path", str(tasks), "--device", "cpu"]
    command += ["--output_path", str(tmp_path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-4000:]
    (results,) = tmp_path.rglob("results_*.json")
    found = json.loads(results.read_text(encoding="utf-8"))["results"]["ours_texts"]
    ours = evaluate_language_model(*load(folders["gpt1"]), [f"{text} " for text in TEXTS])
    assert found["word_perplexity,none"] == pytest.approx(ours["word_perplexity"], rel=1e-4)
