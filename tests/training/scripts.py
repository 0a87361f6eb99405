# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The training scripts: files, a short run, and mistakes of each; `test_scripts.py` holds all to the same."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models import FeedForwardConfig, FeedForwardForCausalLM
from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tasks.task import Task
from tests.forked_python import ForkedPython
from tests.tasks import small_answerer, small_chooser, small_classifier, small_tagger, small_translator
from tests.tasks.test_image_captioning import write_captions

TRAINING = Path(__file__).parents[2] / "training"
RECIPES = TRAINING / "recipes"


@dataclass(frozen=True)
class Script:
    """A training script.

    Attributes:
        write: writes what `arguments` name into the current folder.
        arguments: a run without its output folder; later options win.
        two: further options of runs in two processes, which one process makes with those of `one`.
        measure: of the validation data, the same in both.
        mistakes: further options, and a part of the error.
    """

    task: Task[Any]
    write: Callable[[], None]
    arguments: list[str]
    two: list[str] = field(default_factory=list)
    one: list[str] = field(default_factory=list)
    measure: str = "loss"
    mistakes: list[tuple[list[str], str]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return TRAINING / self.task.script

    def train(self, *arguments: Any) -> Any:
        """The result of the training, in this process and with errors as they are."""
        return train_from_command(self.task, [str(argument) for argument in arguments])[0]

    def finish(self, *arguments: Any) -> tuple[str, str]:
        """The standard output and error of a process of its own, which must succeed."""
        process = ForkedPython(self.path, *arguments)
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert "%|" not in err, "no bar where there is no terminal"
        return out, err

    def run(self, *arguments: Any) -> None:
        """The script in this process, with errors in one line."""
        run_task(self.task, [str(argument) for argument in arguments], "What it does.")


def printed_commands(task: Task[Any]) -> list[list[str]]:
    """The commands in the script's docstring that train without a recipe, without `python` and the script's path."""
    text = (TRAINING / task.script).read_text(encoding="utf-8").replace("\\\\\n", " ")
    return [command.split() for command in re.findall(rf"^    python training/{task.script} (--.*)$", text, re.M)]


def write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_texts() -> None:
    for name, text in {"empty.csv": "", "empty.jsonl": "", "empty.txt": "", "blank.jsonl": "\n"}.items():
        Path(name).write_text(text)
    Path("header.csv").write_text("text\n")


def write_recall() -> None:
    write_lines("none.jsonl", [{"text": "k1 v1", "answers": []}])
    write_lines("texts.jsonl", [{"text": "k1 v1"}])
    rows = [
        {"text": f"k{number % 4} v{number % 3} . k{number % 4} v{number % 3}", "answers": [4]} for number in range(24)
    ]
    write_lines("T.jsonl", rows)
    write_lines("V.jsonl", rows[:5])


def write_photos() -> None:
    words = ("dark", "dim", "grey", "pale", "light", "white")
    write_captions(Path("PHOTOS"), [(f"a {words[number % 6]} image", 40 * (number % 6)) for number in range(22)])
    write_captions(Path("more"), [("a dark image", 0), ("a pale image", 120)])
    (Path("more") / "2.png").write_bytes((Path("more") / "1.png").read_bytes())
    write_captions(Path("none"), [("a dark image", 0)])
    (Path("none") / "metadata.csv").unlink()


def write_points() -> None:
    rows = [[[number % 3, step, int(step == 3)] for step in range(2 + number % 3)] for number in range(24)]
    for name, lines in {
        "T": rows,
        "V": rows[:5],
        "empty": [[]],
        "narrow": [[[1, 2]]],
        "nan": [[[1, float("nan"), 0]]],
    }.items():
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def write_classifier() -> None:
    rows, write_tsv = small_classifier.ROWS, small_classifier.write_tsv
    small_classifier.save_small_bert(Path("FOLDER"))
    write_tsv(Path("T.tsv"))
    write_tsv(Path("V.tsv"), rows[:6])
    # What is refused.
    write_tsv(Path("other.tsv"), [rows[0], {"text": "funny", "label": 7}])
    write_tsv(Path("one.tsv"), [rows[1], rows[1]])
    write_tsv(Path("header.tsv"), [])
    Path("latin.tsv").write_text("sentence\tlabel\nfilm à voir\t1\n", encoding="latin-1")
    for name in ("words", "cut"):
        shutil.copytree("FOLDER", name)
    FeedForwardForCausalLM(FeedForwardConfig(vocab_size=9, hidden_size=4)).save_pretrained("bengio")
    for path in Path("words").glob("tokenizer*"):
        path.rename(Path("bengio") / path.name)
    weights_file = Path("cut/model.safetensors")
    weights_file.write_bytes(weights_file.read_bytes()[:-8])


COPA = [
    {"premise": "a film", "choice1": first, "choice2": second, "question": question, "label": label}
    for first, second, label in (("warm", "cold", 0), ("long", "funny", 1), ("dull", "fine", 1), ("warm", "dull", 0))
    for question in ("cause", "effect")
]


def write_chooser() -> None:
    small_chooser.save_small_chooser(Path("FOLDER"))
    write_lines("T.jsonl", COPA)
    write_lines("V.jsonl", COPA[:3])
    write_lines("P.jsonl", [{**row, "idx": 500 + number, "label": -1} for number, row in enumerate(COPA)])
    write_lines("rows.jsonl", small_chooser.ROWS)


def write_answerer() -> None:
    small_answerer.save_small_bert(Path("FOLDER"))
    small_answerer.write_squad(Path("T.json"))
    small_answerer.write_squad(Path("V.json"), small_answerer.ROWS[:6])
    small_answerer.write_squad(Path("test.json"), with_answers=False)
    # What is refused.
    row = small_answerer.ANSWERABLE[0]
    moved = {"text": row["answers"]["text"][:1], "answer_start": [1]}
    small_answerer.write_squad(Path("bad.json"), [{**row, "answers": moved}])
    Path("empty.json").touch()


def write_conllu(path: Path, rows: list[dict[str, Any]]) -> None:
    """A file of the Universal Dependencies, with the tags as parts of speech."""
    sentences = []
    for row in rows:
        pairs = enumerate(zip(row["tokens"], row["tags"], strict=True), start=1)
        words = ["\t".join((str(number), word, "_", tag, "_", *"_____")) for number, (word, tag) in pairs]
        sentences.append("\n".join(["# a sentence", *words, ""]))
    path.write_text("\n".join(sentences), encoding="utf-8")


def write_tagger() -> None:
    rows = small_tagger.ROWS
    small_tagger.save_small_bert(Path("FOLDER"))
    for name, some in (("T", rows), ("V", rows[:6])):
        write_conllu(Path(f"{name}.conllu"), some)
        small_tagger.write_conll(Path(f"{name}.conll"), some)
    # What is refused.
    Path("bad.conllu").write_text("# a comment\n\n1\tthe\tDET\n")
    write_conllu(Path("other.conllu"), [{"tokens": ["Paris"], "tags": ["B-CITY"]}])
    write_lines("bad.jsonl", [{"tokens": ["a"], "upos": ["O"]}, {"tokens": ["a", "b"], "upos": ["O"]}])
    long = {"tokens": ["London"] * 5 + ["met"] * 5, "upos": ["B-LOC"] * 5 + ["O"] * 5}
    write_lines("long.jsonl", [long])


def write_translator() -> None:
    for name, count in (("T", 8), ("V", 3)):
        for language, lines in (("fr", small_translator.SOURCES), ("en", small_translator.TARGETS)):
            Path(f"{name}.{language}.txt").write_text("".join(f"{line}\n" for line in lines[:count]), encoding="utf-8")
    recipe = {"model": small_translator.MODELS["ours"], "batch_tokens": 40, "log_every": 1, "validation_beams": 2}
    Path("recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")


def small_steps(accumulation: int) -> list[str]:
    """Plain descent: Adam would hide the gradient's size."""
    options = f"--epochs 3 --batch_size 8 --accumulation_steps {accumulation} --learning_rate 0.1 --optimizer sgd"
    return options.split()


NO_TEXTS = ["--train_texts", "[]"]
NO_DROPOUT = ["--model.hidden_dropout_prob", "0", "--model.attention_probs_dropout_prob", "0"]
SCRIPTS: dict[str, Script] = {
    "causal_lm": Script(
        TASKS["causal_lm"],
        write_texts,
        [str(RECIPES / "recurrent_tiny.yaml")],
        ["--model.dropout", "0", "--epochs", "6", "--evaluate_every", "35"],
        ["--accumulation_steps", "1"],
        "validation_perplexity",
        [
            (["--tokenizer.type", "runes"], "tokenizer.type must be one of word, bpe, char, byte"),
            (["--tokenizer.type", "[word]"], "tokenizer.type must be one of"),
            (["--tokenizer.colour", "red"], "colour"),
            (["--tokenizer.min_count", "abc"], "tokenizer.min_count must be int, not 'abc'"),
            (["--validation_texts", "[1, 2]"], "each of validation_texts must be str, not 1"),
            (["--model.model_type", "lecture_recurent"], "did you mean lecture_recurrent?"),
            (["--model.model_type", "bert-x"], "own: lecture_"),
            (["--model.hiden_size", "3"], "hidden_size"),
            (["--model.hidden_size", "abc"], "Field 'hidden_size' expected int, got str"),
            (["--model", "{model_type: gpt2, n_embd: 1000000000000000, n_head: 1}"], "model cannot be built: "),
            (["--learnin_rate", "3"], "did you mean learning_rate"),
            (["--batch_size", "5"], "make it a multiple of 2"),
            (["--output_dir", "[1"], "--output_dir: '[1' is no YAML value"),
            (["--output_dir", ""], "output_dir is empty"),
            ([*NO_TEXTS, "--train_files", "empty.csv"], "empty.csv is empty"),
            ([*NO_TEXTS, "--train_files", "empty.jsonl"], "empty.jsonl is empty"),
            ([*NO_TEXTS, "--train_files", "blank.jsonl"], "blank.jsonl"),
            ([*NO_TEXTS, "--train_files", "header.csv"], "header.csv"),
            (["--validation_texts", "[]", "--validation_files", "empty.txt"], "empty.txt: there is no row"),
            (
                [*NO_TEXTS, "--train_files", "empty.jsonl", "--streaming", "true", "--layout", "blocks"],
                "empty.jsonl is empty",
            ),
        ],
    ),
    "masked_lm": Script(
        TASKS["masked_lm"],
        lambda: None,
        [str(RECIPES / "bert_tiny.yaml")],
        ["--epochs", "4", "--evaluate_every", "4", *NO_DROPOUT],
        ["--accumulation_steps", "1"],
        "validation_masked_perplexity",
        [
            (["--mask_probability", "0"], "mask_probability must be above 0 and at most 1, not 0.0"),
            (["--documents", "pages"], "documents must be one of blank_lines, titles, texts, not 'pages'"),
            (["--documents", "titles"], "training data: next sentences need two documents at least, "),
            (["--sequence_length", "25"], "sequence_length 25 is more than the model's longest input, 24 tokens"),
            (["--sequence_length", "4"], "sequence_length 4 has no room for text beside 3 special tokens; raise it"),
            (["--tokenizer", "{type: word}"], "training data: the tokenizer has no mask_token, which stands in the"),
            (["--model.model_type", "lecture_gpt1"], "AutoModelForPreTraining has no model of model.model_type"),
            (["--next_sentences", "false"], "no field next_sentences; did you mean next_sentence?"),
        ],
    ),
    "points": Script(
        TASKS["sequence_prediction"],
        write_points,
        [
            str(RECIPES / "graves_tiny.yaml"),
            *("--train_files", "T.jsonl", "--validation_files", "V.jsonl"),
            *("--epochs", "6", "--batch_size", "8", "--evaluate_every", "4", "--save_every", "2"),
        ],
        ["--accumulation_steps", "2", "--clip_norm", "null"],
        [],
        "validation_nats_per_point",
        [
            (["--train_files", "empty.jsonl"], "empty.jsonl, row 1: points are []; give a list of points"),
            (["--train_files", "nan.jsonl"], "nan.jsonl, row 1: a number is NaN or infinite: correct it"),
            (
                ["--validation_files", "narrow.jsonl"],
                "narrow.jsonl, row 1: points have 2 numbers, and the model reads 3",
            ),
            (["--train_files", "T.csv"], "there is no file T.csv"),
            (["--model.mixture", "cubic"], "mixture is 'cubic'; it must be one of 'bivariate', 'diagonal'"),
            (["--model.has_pen", "false"], "point_size=3; it is for points of two"),
        ],
    ),
    "recall": Script(
        TASKS["synthetic_recall"],
        write_recall,
        [
            str(RECIPES / "transformer_xl_recall_tiny.yaml"),
            *("--train_files", "T.jsonl", "--validation_files", "V.jsonl"),
            *("--epochs", "6", "--batch_size", "8", "--evaluate_every", "4", "--save_every", "2"),
        ],
        ["--accumulation_steps", "2", "--clip_norm", "null"],
        [],
        "validation_accuracy",
        [
            (["--pairs", "[9]", "--train_files", "[]"], "9 pairs need texts of at least 36 words"),
            (["--pairs", "[4, 0]"], "pairs must be numbers of at least 1, such as [4, 8], not [4, 0]"),
            (["--train_files", "none.jsonl"], "none.jsonl, row 1: answers is []; give a list of places"),
            (["--train_files", "texts.jsonl"], "texts.jsonl has no column 'answers', only text"),
            (["--tokenizer.type", "byte"], "words and"),
            (
                [
                    "--model",
                    "{model_type: lecture_gpt1, hidden_size: 8, num_attention_heads: 2, max_position_embeddings: 4}",
                ],
                "row 1 has 5 tokens, and the model reads at most 4",
            ),
            (["--train_siez", "3"], "no field train_siez; did you mean train_size?"),
        ],
    ),
    "captioning": Script(
        TASKS["image_captioning"],
        write_photos,
        [
            *("--train_files", "PHOTOS", "--validation_share", "0.2", "--epochs", "6", "--batch_size", "8"),
            *(
                "--model",
                "{model_type: lecture_image_captioning, image_size: 4, patch_size: 2, num_channels: 1, "
                "hidden_size: 8, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 8, "
                "max_position_embeddings: 6, hidden_dropout_prob: 0}",
            ),
            *("--evaluate_every", "4", "--save_every", "2"),
        ],
        [],
        ["--accumulation_steps", "2"],
        "validation_exact_match",
        [
            (
                ["--train_files", "more"],
                "3 image(s), and its metadata.csv 2 row(s): it has no caption of 2.png",
            ),
            (["--train_files", "none"], "none has no metadata.csv; write one with the columns file_name and text"),
            (["--model.max_position_embeddings", "3"], "a caption of 4 tokens, and the model reads 3 at most"),
            (["--model.image_size", "5"], "image_size is 5; it must be a multiple of patch_size=2"),
            (["--captions", "templated"], "holds no folder; put the images of each class into a folder"),
            (["--encoder_from_pretrained", "none"], "none"),
            (["--num_beam", "3"], "no field num_beam; did you mean num_beams?"),
        ],
    ),
    "span_corruption": Script(
        TASKS["span_corruption"],
        lambda: None,
        [str(RECIPES / "transformer_span_tiny.yaml")],
        ["--epochs", "4", "--evaluate_every", "4", "--model.dropout", "0"],
        ["--accumulation_steps", "1"],
        "validation_span_perplexity",
        [
            (["--noise_density", "0"], "noise_density must be above 0 and below 1, not 0.0"),
            (["--mean_span_length", "0"], "mean_span_length must be at least 1, not 0.0"),
            (["--sequence_length", "2"], "training data: sequence_length 2 has no room for text beside 1 special"),
            (["--sequence_length", "90", "--sentinels", "1"], "spans, but the tokenizer has 1 sentinel(s)"),
            (["--model.relative_attention_num_buckets", "7"], "the buckets must be an even number of at least 4"),
            (["--mean_span_lenght", "3"], "no field mean_span_lenght; did you mean mean_span_length?"),
        ],
    ),
    "glue": Script(
        TASKS["text_classification"],
        write_classifier,
        printed_commands(TASKS["text_classification"])[0][:-2],
        [*small_steps(2), "--test_files", "V.tsv"],
        [],
        "validation_accuracy",
        [
            (["--task", "sst9"], "cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, sst3, sst5, not 'sst9'"),
            (["--from_pretraned", "FOLDER"], "no field from_pretraned; did you mean from_pretrained?"),
            (["--from_pretrained", "./nowhere/bert"], "there is no folder ./nowhere/bert"),
            (["--from_pretrained", "."], "the folder . has no config.json"),
            (["--from_pretrained", "words"], "the folder words has no tokenizer: save it there by tokenizer.save_p"),
            (["--from_pretrained", "bengio"], "holds FeedForwardForCausalLM, which AutoModelForSequenceClassificatio"),
            (["--from_pretrained", "cut"], "cut: its weights file is damaged or cut off"),
            (["--from_pretrained", "FOLDR"], "there is no folder FOLDR, and HF_HUB_OFFLINE keeps from asking the Hub"),
            (["--model.model_type", "bert"], "from_pretrained brings its own model; leave model out"),
            (["--from_pretrained", "", "--model.hidden_size", "3"], "no field model.hidden_size in BagOfWordsConfig;"),
            (["--from_pretrained", "", "--model.nonsense", "3"], "no field model.nonsense in BagOfWordsConfig"),
            (["--train_files", "nowhere.tsv"], "there is no file nowhere.tsv"),
            (["--task", "sst3"], "T.tsv has no column 'label3', only sentence, label; --columns.label NAME"),
            (["--columns.text", "text"], "T.tsv has no column 'text', only sentence, label; --columns.text NAME"),
            (["--columns.txt", "text"], "columns has 'txt', but there are only text, label"),
            (
                ["--validation_files", "other.tsv"],
                "other.tsv, row 2: label '7' is none of sst2's, 0 (negative), 1 (positive); --label_names.7 NAME says",
            ),
            (["--train_files", "other.tsv"], "other.tsv, row 2: label '7' is none of sst2's"),
            (["--train_files", "latin.tsv"], "latin.tsv, line 2: not UTF-8 ('utf-8' codec can't decode"),
            (["--train_files", "header.tsv"], "header.tsv has no row below the names of its columns"),
            (["--train_files", "one.tsv"], "one.tsv: all labels are 'positive'; there is nothing to learn"),
            (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
            (["--problem_type", "multi"], "problem_type must be one of single_label_classification, regression"),
            (
                ["--train_rows", "[{text: a}]", "--train_files", "[]"],
                "recipe's train_rows has no column 'label', only text",
            ),
        ],
    ),
    "multiple_choice": Script(
        TASKS["multiple_choice"],
        write_chooser,
        printed_commands(TASKS["multiple_choice"])[0][:-2],
        [*small_steps(2), "--batch_size", "4"],
        [],
        "validation_accuracy",
        [
            (["--task", "hellaswag"], "arc_easy, arc_challenge, not 'hellaswag'"),
            (["--task", "swag"], "jsonl has no column 'sent1', only premise, choice1, choice2, question, label"),
            (
                ["--train_files", "P.jsonl"],
                "P.jsonl, row 1: it has no label, as the rows of a test set; rows without labels",
            ),
            (["--validation_files", "P.jsonl"], "P.jsonl, row 1: it has no label"),
            (["--columns.label", "gold"], "jsonl has no column 'gold'"),
            (["--columns.context", "premise"], "columns has 'context', but there are only premise, choice1, choice2"),
            (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
            (["--max_length", "4"], "row 1, choice 0 is too long for max_length 4: its own tokens (1) and the"),
            (["--from_pretrained", "", "--model.model_type", "gpt2"], "AutoModelForMultipleChoice has no model of"),
        ],
    ),
    "squad": Script(
        TASKS["question_answering"],
        write_answerer,
        printed_commands(TASKS["question_answering"])[0][:-2],
        # Each micro-batch is one window, so that the stock head, which counts padding, reads the same ones in both.
        [*small_steps(4), "--max_length", "24", "--doc_stride", "6"],
        ["--accumulation_steps", "8"],
        "loss",
        [
            (["--train_files", "bad.json"], "bad.json, row 1 (question q0): its answer 'Ada Lovelace' is not at char"),
            (["--train_files", "test.json"], "test.json has no column 'answers', only id, context, question;"),
            (["--columns.text", "context"], "columns has 'text', but there are only context, question, answers, id"),
            (
                ["--version_2_with_negative", "false"],
                ".json, row 3 (question q2) has no answer, but version_2_with_negative",
            ),
            (["--max_length", "4"], "max_length 4 leaves no room for a question and a text"),
            (["--doc_stride", "-1"], "doc_stride must be at least 0, not -1"),
            (["--task", "squad3"], "task must be one of squad, squad_v2, not 'squad3'"),
            (["--predict_files", "empty.json"], "empty.json is empty"),
            (
                ["--from_pretrained", "", "--model.model_type", "lecture_gpt1"],
                "AutoModelForQuestionAnswering has no model of model.model_type 'lecture_gpt1'",
            ),
        ],
    ),
    "tagging": Script(
        TASKS["token_classification"],
        write_tagger,
        printed_commands(TASKS["token_classification"])[0][:-2],
        [*small_steps(2), "--scheme", "entities", "--max_length", "9"],
        [],
        "validation_f1",
        [
            (["--columns.tags", "xpos"], "T.conllu: all tags are '_'; there is nothing to learn"),
            (["--columns", "{}"], "T.conllu has no column 'tags', only tokens, id, form, lemma, upos, xpos"),
            (["--columns.tag", "upos"], "columns has 'tag', but there are only tokens, tags"),
            (["--train_files", "bad.conllu"], "bad.conllu, line 3: a word of CoNLL-U has 10 columns"),
            (["--validation_files", "other.conllu"], "other.conllu, line 2, 'Paris': tag 'B-CITY' is none of the mod"),
            (["--train_files", "bad.jsonl"], "bad.jsonl, row 2 has 2 words and 1 tags"),
            (["--train_files", "T.conll", "--columns.tags", "3"], "T.conll has no column '3', only tokens, tags, 1, 2"),
            (["--scheme", "iob"], "scheme must be one of plain, entities, not 'iob'"),
            (["--max_length", "99"], "max_length 99 is more than the model's longest input, 16 tokens"),
            (["--train_files", "long.jsonl"], "long.jsonl, row 1 has 22 tokens, more than the model's longest input;"),
            (
                ["--from_pretrained", "", "--model.model_type", "lecture_bag_of_words"],
                "AutoModelForTokenClassification has no model of model.model_type 'lecture_bag_of_words'",
            ),
        ],
    ),
    "translation": Script(
        TASKS["translation"],
        write_translator,
        ["recipe.yaml", "--train_files", "[T.fr.txt, T.en.txt]", "--validation_files", "[V.fr.txt, V.en.txt]"],
        ["--epochs", "3", "--learning_rate", "0.1", "--optimizer", "sgd", "--accumulation_steps", "2"],
        ["--accumulation_steps", "1"],
        "loss",
        [
            (["--train_files", "T.fr.txt"], "T.fr.txt has no partner"),
            (["--train_files", "[T.fr.txt, V.en.txt]"], "T.fr.txt has 8 lines and V.en.txt 3: they are not aligned"),
            (["--model.model_type", "lecture_gpt1"], "AutoModelForSeq2SeqLM has no model of model.model_type"),
            (["--label_smoothing", "1"], "label_smoothing must be below 1"),
        ],
    ),
}


def of(name: str) -> Any:
    """Mark a test whose fixture `script` is the script of this name."""
    return pytest.mark.parametrize("script", [name], indirect=True)
