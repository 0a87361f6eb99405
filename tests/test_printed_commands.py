# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every command that a document, a docstring, a recipe or a message prints works as printed.

Each is run in a folder that holds what it names: a corpus, sentences, groups, n-best lists, pairs, small models, small
files in the places of the recipes' data. Only what stands for something else is replaced (`STANDS_FOR`), what is
optional, in square brackets, is left out, and what trains for minutes gets an option that shortens it (`SHORTER`). The
scripts in `benchmarks/` are parsed by their own parsers and go no further. What cannot be run is listed with its reason
(`NOT_RUN`). What quickstart and ladder print at their ends is run by `tests/lab/comparison`.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import shlex
import signal
import struct
import tomllib
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, set_seed

from hf_lecture_cli import app
from hf_lecture_models import (
    BagOfWordsConfig,
    BagOfWordsForSequenceClassification,
    BpeTokenizer,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    Word2VecConfig,
    Word2VecModel,
    WordTokenizer,
)
from hf_lecture_models.cli.train import script_command
from hf_lecture_models.lab.comparison.baselines import make_baselines
from tests.hub.stand_in_hub import stand_in_hub
from tests.models.ngram.kenlm_ngram import grams_of, trie_file
from tests.printed_commands import ROOT, printed_commands, run_printed, start_printed
from tests.tasks.small_translator import save_translator

COMMANDS = printed_commands()

RECIPE = "training/recipes/{}.yaml"
CAUSAL_LM = f"training/train_causal_lm.py {RECIPE.format('recurrent_tiny')}"
# What stands in a printed command, and what is run in its place; in this order.
STANDS_FOR = [
    (r"(fit_ngram) \[RECIPE.yaml\]", r"\1 RECIPE.yaml"),
    (r" \[[^]]*\]", ""),
    (r"--from_pretrained FOLDER", "--from_pretrained gpt2"),
    (r"--dataset_name FOLDER", "--dataset_name rows"),
    (r"--data FOLDER", "--data pairs"),
    (r"convert MODEL model.arpa", "convert trigram again.arpa"),
    (r"convert \{\} FOLDER", "convert vectors.bin FOLDER"),
    (r"(convert (?:model.arpa|vectors.bin|lm.bin)|--output_dir) FOLDER", r"\1 new"),
    (r"(fit_ngram) RECIPE.yaml", rf"\1 {RECIPE.format('ngram')}"),
    (r"(text_classification) RECIPE.yaml", rf"\1 {RECIPE.format('bag_of_words_tiny')}"),
    (r"(masked_lm|train_masked_lm.py) RECIPE.yaml", rf"\1 {RECIPE.format('bert_tiny')}"),
    (r"(word_vectors) RECIPE.yaml", rf"\1 {RECIPE.format('word2vec_tiny')}"),
    (r"(bidirectional_lm) RECIPE.yaml", rf"\1 {RECIPE.format('elmo_tiny')}"),
    (r"(token_classification) RECIPE.yaml", rf"\1 {RECIPE.format('recurrent_tagger_tiny')}"),
    (r"(multiple_choice) RECIPE.yaml", rf"\1 {RECIPE.format('bert_choice_tiny')}"),
    (r"(question_answering) RECIPE.yaml", rf"\1 {RECIPE.format('bert_squad_tiny')}"),
    (r"(image_captioning) RECIPE.yaml", rf"\1 {RECIPE.format('image_captioning_tiny')}"),
    (r"(synthetic_recall) RECIPE.yaml", rf"\1 {RECIPE.format('transformer_xl_recall_tiny')}"),
    (r"(sequence_prediction) RECIPE.yaml", rf"\1 {RECIPE.format('graves_tiny')}"),
    (r"(span_corruption|train_span_corruption.py) RECIPE.yaml", rf"\1 {RECIPE.format('transformer_span_tiny')}"),
    (r"(translation) RECIPE.yaml", rf"\1 {RECIPE.format('recurrent_seq2seq_tiny')}"),
    (r"(image_classification|masked_images) RECIPE.yaml", rf"\1 {RECIPE.format('vit_tiny')}"),
    (r"training/train_causal_lm.py RECIPE.yaml", CAUSAL_LM),
    (r"(causal_lm) RECIPE.yaml", rf"\1 {RECIPE.format('recurrent_tiny')}"),
    (r"train \{\} (\{\}|--help)$", "train causal_lm --help"),
    (r"train \{\} recipe.yaml", f"train causal_lm {RECIPE.format('recurrent_tiny')}"),
    (r"train \{\}$", "train recurrent_tiny"),
    (r"train \{\} \{\}$", "train causal_lm recurrent_tiny"),
    (r"train \{\} --help", "train causal_lm --help"),
    (r"fit_ngram recipe.yaml", f"fit_ngram {RECIPE.format('ngram')}"),
    (r"--nproc_per_node \{\}", "--nproc_per_node 2"),
    (r"\bSCRIPT\b", CAUSAL_LM),
    (r"generate \{\}", "generate lstm"),
    (r"--prompt \{\}", "--prompt 'the cat '"),
    (r"corpus.jsonl", "rows/train.jsonl"),
    (r"predict (MODEL|\{\})", "predict classifier"),
    (r"see attention MODEL", "see attention gpt2"),
    (r"(translate|see alignment) (MODEL|\{\})", r"\1 translator"),
    (r"see segmentation MODEL", "see segmentation bpe"),
    (r"claim NAME", "claim word_order"),
    (r"evaluate MODEL TASK", "evaluate lstm causal_lm CORPUS.txt"),
    (r"evaluate OUT text_classification", "evaluate classifier text_classification"),
    (r"exercise NAME$", "exercise lstm_cell"),
    (r"exercise \{name\} MY.py", "exercise lstm_cell my.py"),
    (r"neighbours MODEL man king woman", "neighbours lstm cat dog horse"),
    (r"neighbours \{\} WORD", "neighbours lstm cat"),
    (r"(predict|evaluate|export) my_model", r"\1 classifier"),
    (r"(cut|extend|prune) MODEL", r"\1 trigram"),
    (r"mix MODEL MODEL2", "mix trigram model.arpa"),
    (r"history-model OTHER", "history-model trigram"),
    (r"--counts text.txt", "--counts CORPUS.txt"),
    (r"\bMODEL2\b", "trigram"),
    (r"\bMODEL\b", "lstm"),
    (r"\bNAMESPACE/NAME\b", "somebody/lstm"),
    (r"\bWORD \.\.\.", "cat dog"),
    (r"ladder FILE\b", "ladder CORPUS.txt"),
    (r"\bOUT\b", "out"),
]
SHORTER = {
    "hf-lecture quickstart": "--tiny",
    "hf-lecture ladder": "--tiny --minutes 0.02",
    "hf-lecture train image_classification vit_digits": "--max_steps 4",
    "hf-lecture train vit_digits": "--max_steps 4",
    "hf-lecture train causal_lm gpt1_wikitext2 --max_steps 900": "--max_steps 4",
    "hf-lecture train synthetic_recall self_attention_recall": "--max_steps 4 --train_size 300",
    "hf-lecture train self_attention_recall": "--max_steps 4 --train_size 300",
    "hf-lecture train sequence_prediction --": "--max_steps 4 --train_size 100",
    "hf-lecture train sequence_prediction graves_digits": "--max_steps 4",
    "hf-lecture train graves_digits": "--max_steps 4",
    "hf-lecture train synthetic_recall --": "--max_steps 4 --train_size 300",
    # The sentences of the tests have fewer words.
    "hf-lecture train causal_lm transformer_xl_wikitext2": "--model.cutoffs [4,12]",
    "hf-lecture train transformer_xl_wikitext2": "--model.cutoffs [4,12]",
}

NOT_RUN = {
    r"python -m docs\._site\.pictures": (
        "it writes into the repository; tests/docs/test_pictures.py compares the files with what it writes"
    ),
    r"hf-lecture (new TASK FILES?( \.\.\.)?|train TASK --help)": "forms",
    r"python benchmarks/own_data\w*\.py .*": "it needs another environment, with the packages that it measures",
    r"pip install .*": "it changes the environment in which the tests run; .ci/run begins with the README's two",
    r"pytest.*|\.ci/run": "it would run this test",
    r"pip wheel .*": "it builds the whole checkout; tests/cli/test_train.py builds the wheel and installs it",
    r"hf auth login": "it asks for a token, and is huggingface_hub's",
    r"hf-lecture exec trl sft \.\.\. .*": "shortened; tests/interop/test_trl.py runs it",
    r"python (FILE|-m MODULE|-c CODE).*": "forms of `hf-lecture exec python`; tests/cli/test_exec.py runs each",
    r"hf-lecture train (TASK|RECIPE|NAME|my\.yaml)\b.*": ("forms; tests/cli/test_train.py finds the script of each"),
    r"hf-lecture new( TASK .*)?|hf-lecture train text_classification\.yaml": "forms; tests/cli/test_new.py runs them",
    r"hf-lecture (train text_classification\.yaml|evaluate \w+ text_classification --held-out)( .*)?": (
        "it goes on from the command before; the tests of the README run these one after the other"
    ),
    r"hf-lecture train OUT/recipe\.yaml .*": "it needs the folder of a run",
    r"hf-lecture publish --all( .*)?": "it needs a folder of models; tests/hub/test_publish_all.py publishes one",
    r"hf-lecture exercise \w+ > my.py": "it writes a file; tests/cli/test_exercise.py prints the same and checks it",
    r"hf-lecture exec PROGRAM \.\.\.": "a form; tests/cli/test_exec.py runs programs",
    r"accelerate launch --use_fsdp.*": "it needs GPUs; tests/trainer/test_sharding.py runs the same on the CPU",
    r"hf-lecture exec transformers serve( .*)?": "a server; tests/interop/test_serve.py runs and asks it",
    r"hf-lecture exec python -m evaluation_pipeline\..*": "another project's program; benchmarks/babylm.py runs it",
    r"hf-lecture train (gpt1|ngram)_wikitext2 .*_babylm .*": "it needs BabyLM's text",
    r"hf-lecture exec lm_eval .*": "it needs a task's file; tests/interop/test_lm_eval.py runs it",
    r"hf-lecture train (token_classification --.*|(token_classification )?recurrent_(ewt|wnut17))": (
        "it needs files of tags; tests/training/scripts.py runs the script on such files"
    ),
    r"hf-lecture train multiple_choice --task .*": (
        "it needs rows of choices; tests/training/scripts.py runs the script on such rows"
    ),
    r"hf-lecture train text_classification --task rte --from_pretrained .*": (
        "it reads the Hub; tests/training/test_finetuning.py reads a stand-in"
    ),
    r"hf-lecture train text_classification --task rte --train_files .*": (
        "it needs files of the task; tests/training/test_scripts.py runs the script on such files"
    ),
    r"hf-lecture train question_answering --.*": (
        "it needs a model and files of questions; tests/training/scripts.py runs the script on such files"
    ),
    r"hf-lecture train translation --output_dir OUT --train_files .*": (
        "it needs line-aligned files; tests/training/scripts.py runs the script on such files"
    ),
    r"hf-lecture train (translation )?\w+_multi30k\w*": (
        "it needs Multi30k and takes half an hour; tests/training/test_recipes.py reads the recipe"
    ),
    r"hf-lecture train translation --output_dir OUT && .*": (
        "it trains for a minute; tests/training/test_pretraining.py runs both commands"
    ),
    r"hf-lecture train image_captioning --train_files .*": (
        "it needs a folder of images with captions; tests/training/scripts.py runs the script on such a folder"
    ),
    r"hf-lecture predict \{\} (questions|choices).jsonl": (
        "it needs such a model; tests/tasks/task_tests.py runs it on small ones"
    ),
    r"hf-lecture (predict (MODEL|\{\}) photo.png|see alignment MODEL --image .*)": (
        "it needs a model of images; tests/tasks/captioning/test_task.py and cli/test_same_answers.py run small ones"
    ),
    r"hf-lecture train synthetic_recall --train_files .*": (
        "it needs files of texts with answers; tests/training/scripts.py runs the script on such files"
    ),
    r"hf-lecture (predict|evaluate) runs/recall .*": "it needs the model of the command before",
    r"hf-lecture train (sequence_prediction )?(--train_files|graves_\w*(omniglot|sunspots)).*": (
        "it needs files of points, or statsmodels; tests/training/scripts.py runs the script on such files"
    ),
    r"hf-lecture (predict|evaluate|see (strokes|density)) strokes\b.*": "it needs the model of the command before",
    r"hf-lecture see (strokes|density) MODEL\b.*": (
        "it needs a model of points; tests/cli/test_points.py runs it on a small one"
    ),
    r"hf-lecture train (text_to_text .*|transformer_span_sst2)": (
        "it needs a model of spans; tests/training/test_pretraining.py makes one and fine-tunes it"
    ),
    r"hf-lecture train image_classification --train_files .*": (
        "it needs a folder of images and a model; tests/tasks/images/test_classification.py trains on such folders"
    ),
    r"hf-lecture train (\w+ )?(gpt1_sst3|recurrent_sst3_from_lm|elmo_ewt)": (
        "it needs the model of the command before"
    ),
    r"hf-lecture train (\w+ )?bert_minilm_\w+": (
        "it needs a published model; tests/training/test_recipes.py reads the recipe"
    ),
    r"hf-lecture score MODEL --segmentations marginal": (
        "it needs a unigram tokenizer; tests/cli/test_score.py trains one"
    ),
    r"hf-lecture (score|filter) .*--sentencepiece en.sp.model .*": (
        "it needs a sentencepiece model; tests/cli/test_filter.py trains one"
    ),
    r"hf-lecture filter MODEL (--minus|--sample|corpus.jsonl --buckets) .*": (
        "it needs a second model, a sample or a corpus; tests/cli/test_filter.py writes them"
    ),
    r"hf-lecture filter MODEL corpus.parquet .*": "it needs such a file; tests/cli/test_filter.py writes one",
    r"hf-lecture \w+ (lm\.arpa\.gz|lm\.klm|GoogleNews|glove|elmo_weights|transfo-xl|openai-gpt|bert-base).*": (
        "it needs a file of its kind; tests/cli/test_old_weights.py makes each and runs the page's commands"
    ),
    r"echo 'the \[MASK\] sat' \| .*|hf-lecture train token_classification --train_files .* --from_pretrained elmo": (
        "it needs such a model; tests/cli/test_old_weights.py and tests/training/test_scripts.py run it on small ones"
    ),
    r"hf-lecture prompt .*": "it needs rows of a task; tests/cli/test_prompt.py runs the verb on small ones",
    r"hf-lecture train evaluate_prompting.*": (
        "it needs rows of a task; tests/lab/studies/test_prompting_task.py runs the script on small ones"
    ),
    r"hf-lecture see \w+ (?!MODEL).*": (
        "it needs models of WikiText-2 and others; tests/cli/test_see.py runs each on small ones"
    ),
    r"hf-lecture (\{\}|new|evaluate|predict|translate|generate --interactive|rank --scores|see \w+)": (
        "no command: a verb's name"
    ),
}
# They take minutes and real data, and write into the repository.
PARSED = {command for command in COMMANDS if "python -m benchmarks." in command}
QUICK = (
    "hf-lecture claim",
    "hf-lecture score",
    "hf-lecture surprisal",
    "hf-lecture rank",
    "hf-lecture generate",
    "hf-lecture predict",
    "hf-lecture convert model.arpa",
    "echo ",
)
LECTURE_MAP = {"docs/lecture_map.md"}


def reason_not_to_run(command: str) -> str | None:
    """Why a command is not run, or None."""
    return next((reason for pattern, reason in NOT_RUN.items() if re.fullmatch(pattern, command)), None)


def replaced(command: str) -> str:
    """The command with what its placeholders stand for."""
    for pattern, words in STANDS_FOR:
        command = re.sub(pattern, words, command)
    return next((f"{command} {more}" for start, more in SHORTER.items() if command.startswith(start)), command)


RUN = sorted(set(COMMANDS) - PARSED - {command for command in COMMANDS if reason_not_to_run(command)})


def test_commands_are_found_where_they_stand():
    """If the search for commands missed any kind of place, the tests below would be content with less."""
    for command, place in {
        "hf-lecture score MODEL < sentences.txt": "docs/usage.md",
        "pytest -m slow": "CONTRIBUTING.md",
        "hf-lecture neighbours MODEL WORD ...": "docs/neighbours.md",
        "python -m benchmarks.model_cards NAME FOLDER": "hub_cards/README.md",
        "hf-lecture train ngram_wikitext2": "hub_cards/ngram_wikitext2.md",
        "accelerate launch training/train_causal_lm.py training/recipes/recurrent_tiny.yaml": "docs/training.md",
        "hf-lecture train self_attention_tiny": "hf_lecture_models/models/self_attention/README.md",
        "hf-lecture train text_classification bag_of_words_sst2": "training/recipes/bag_of_words_sst2.yaml",
        "hf-lecture train fit_ngram ngram --order 2 --smoothing add_alpha --alpha 0.1": "training/fit_ngram.py",
        "hf-lecture demo MODEL MODEL2": "hf_lecture_models/lab/demo/text_tabs.py",
        "pip install 'hf-lecture-models[train]'": "hf_lecture_models/analysis/figures.py",
        "echo 'The value of the' | hf-lecture generate {} --sample": "hf_lecture_models/lab/comparison/quickstart.py",
    }.items():
        assert place in COMMANDS.get(command, ()), command
    assert len(RUN) > 90


def test_every_reason_and_replacement_is_needed():
    for pattern in NOT_RUN:
        assert any(re.fullmatch(pattern, command) for command in COMMANDS), pattern
    for pattern, _ in STANDS_FOR:
        assert any(re.search(pattern, command) for command in [*RUN, *PARSED]), pattern
    leftover = [
        command for command in RUN if re.search(r"\{\}|\.\.\.|(?<!nn\.)\b[A-Z]{3,}\b(?![_.=])", replaced(command))
    ]
    assert not leftover, "placeholders that nothing stands for; add to STANDS_FOR, or to NOT_RUN with the reason"


def test_what_other_tests_run_has_the_options_of_the_printed_command():
    for command in filter(reason_not_to_run, COMMANDS):
        for name in re.findall(r"tests/\S+\.py", reason_not_to_run(command) or ""):
            known = _options_in(ROOT / name)
            if name == "tests/training/scripts.py":
                # Its scripts are run by these tests, also by the commands in their docstrings.
                for other in ("test_scripts.py", "test_finetuning.py"):
                    known |= _options_in(ROOT / "tests" / "training" / other)
                known |= set(re.findall(r" (--[\w-]+)", script_of(command).read_text(encoding="utf-8")))
            for option in re.findall(r" (--[\w-]+)", command.replace("--use_fsdp", "")):
                assert option in known, (command, name)


def _options_in(path):
    return set(re.findall(r'"(--[\w-]+)', path.read_text(encoding="utf-8")))


def test_packages_and_extras_to_install_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    printed = [command for command in COMMANDS if command.startswith("pip install")]
    for name, extra in re.findall(r"(hf-lecture-models|\.)(?:\[(\w+)\])?[\"']?(?= |$)", "\n".join(printed)):
        assert name in (project["name"], ".")
        assert not extra or extra in project["optional-dependencies"]
    assert {"onnx", "onnxscript"} <= {re.split(r"\W", one)[0] for one in project["optional-dependencies"]["interop"]}
    assert (ROOT / "constraints.txt").is_file()


@pytest.mark.parametrize("command", sorted(PARSED))
def test_a_benchmarks_options_are_understood(command, monkeypatch):
    *_, name = re.findall(r"python -m benchmarks\.(\w+)", command)
    if name == "NAME":
        return
    program = importlib.import_module(f"benchmarks.{name}")
    printed = command.partition(f"benchmarks.{name}")[2]
    words = shlex.split(re.sub(r"\[--\w+ \.\.\.\]|\.\.\.|[][]", "", printed))
    if not hasattr(program, "new_parser"):
        assert not words
        return
    parse = argparse.ArgumentParser.parse_args

    def only_parse(parser: argparse.ArgumentParser) -> None:
        assert parse(parser, words)
        raise StopIteration

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", only_parse)
    with pytest.raises(StopIteration):
        program.main()


PEOPLE, ANIMALS = ("ann", "bob", "eve", "the neighbour"), ("cat", "dog", "horse", "white mouse", "owl")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that commands name."""
    place = tmp_path_factory.mktemp("commands")
    texts = [
        f"{p} {deed} the {a} whose function has a value ."
        for p in PEOPLE
        for deed in ("saw", "fed", "lost")
        for a in ANIMALS
    ]
    tokenizer = WordTokenizer.train(texts, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    set_seed(0)
    models: dict[str, Any] = {
        "trigram": NGramForCausalLM.fit(texts, tokenizer, order=3, smoothing="add_alpha", progress=False),
        "lstm": RecurrentForCausalLM(
            RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids)
        ),
        "classifier": BagOfWordsForSequenceClassification(
            BagOfWordsConfig(vocab_size=len(tokenizer), id2label={0: "bad", 1: "good"})
        ),
        "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2, **ids)),
    }
    for name, model in models.items():
        model.save_pretrained(place / name)
        tokenizer.save_pretrained(place / name)
    save_translator(place / "translator")
    BpeTokenizer.train(texts, vocab_size=60, progress=False).save_pretrained(place / "bpe")
    models["trigram"].save_arpa(place / "model.arpa", tokenizer)
    (place / "lm.bin").write_bytes(trie_file(grams_of()))
    vectors = Word2VecModel(Word2VecConfig(vocab_size=len(tokenizer), hidden_size=4, unk_token_id=0, **ids))
    vectors.save_word2vec_format(place / "vectors.bin", tokenizer)
    pair = {"sentence_good": texts[0], "sentence_bad": texts[1], "UID": "x", "field": "syntax"}
    rated = [{"sentence": text, "label3": number % 3 - 1} for number, text in enumerate(texts)]
    tsv = "sentence\tlabel\n" + "".join(f"{text}\t{number % 2}\n" for number, text in enumerate(texts))
    reviews = "text,label\n" + "".join(f"{text},{('bad', 'good')[number % 2]}\n" for number, text in enumerate(texts))
    corpus = "\n".join(texts) + "\n"
    articles = f" = Ann = \n\n{corpus}\n = Bob = \n\n{corpus}"
    files = {
        "CORPUS.txt": corpus,
        "sentences.txt": corpus,
        "texts.txt": corpus,
        **{f"{name}.counts": "<s>\t1\n<s> ann\t1\nann\t1\nann </s>\t1\n</s>\t1\n" for name in ("one", "two")},
        "groups.txt": "ann saw the cat\nann the saw cat\n\nbob fed the dog\n",
        "pairs.txt": "ann saw the cat\nann the saw cat\n",
        "words.txt": "ann\nsaw\nthe\ncat\nwhose\n",
        "held.txt": corpus,
        "names.txt": "zoe ann\nvosk 1e-5\nnew\n",
        "nbest.tsv": "-1.5\tann saw the cat\n-1\tann the saw cat\n",
        "my.py": (ROOT / "hf_lecture_models" / "lab" / "exercises" / "adapter.py").read_text(encoding="utf-8"),
        "embed.py": "import transformers; transformers.AutoModel.from_pretrained('lstm'); print('embedded')",
        "pairs/x.jsonl": json.dumps(pair | {"linguistics_term": "order"}) + "\n",
        "rows/train.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in texts[:8]),
        "reviews.csv": reviews,
        "more.csv": reviews,
        "mine.csv": reviews,
        "comments.csv": "text,toxic,insult,threat\n"
        + "".join(f"{text},{number % 2},{number % 3 // 2},{number % 5 // 4}\n" for number, text in enumerate(texts)),
        "comments.jsonl": "".join(
            json.dumps({"text": text, "label": ["toxic", "insult"][: number % 3]}) + "\n"
            for number, text in enumerate(texts)
        ),
        "T.tsv": tsv,
        "V.tsv": tsv,
        **{f"data/wikitext-2/{part}.txt": articles for part in ("train", "valid", "test")},
        **{f"data/glue/sst2/{part}.tsv": tsv for part in ("train", "dev")},
        **{f"data/sst5/{part}.jsonl": "\n".join(map(json.dumps, rated)) for part in ("train", "dev", "test")},
    }
    for folder in ("quickstart", "ladder"):
        (place / folder).mkdir()
        for name in (baseline.name for baseline in make_baselines()):
            (place / folder / name).symlink_to(place / ("trigram" if name in ("unigram", "trigram") else "lstm"))
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
    for part in ("train", "t10k"):
        images = place / "data" / "fashion_mnist" / f"{part}-images-idx3-ubyte.gz"
        images.parent.mkdir(parents=True, exist_ok=True)
        images.write_bytes(gzip.compress(struct.pack(">4I", 0x803, 20, 28, 28) + bytes(range(245)) * 64))
        labels = images.with_name(f"{part}-labels-idx1-ubyte.gz")
        labels.write_bytes(gzip.compress(struct.pack(">2I", 0x801, 20) + bytes(range(10)) * 2))
    for folder in ("training", "hf_lecture_models"):
        (place / folder).symlink_to(ROOT / folder)
    return place


# A recipe as it is: tests/training/test_recipes.py reads each and runs the tiny ones.
PLAIN = (
    r"(hf-lecture train [a-z]\w*( \w+)?|accelerate launch training/\S+ training/recipes/\w+\.yaml)( --output_dir \w+)?"
)


def script_of(command: str) -> Path:
    """The script that a printed `hf-lecture train` runs."""
    return Path(script_command(shlex.split(replaced(command))[2:], ROOT / "training")[0])


def program_of(command: str) -> tuple[str, ...]:
    """A verb, or a script of `training/`."""
    words = command.split()
    return ("train", script_of(command).name) if command.startswith("hf-lecture train ") else tuple(words[:2])


def without_output(command: str) -> str:
    return re.sub(r" --output_dir \S+", "", replaced(command))


# Which other commands are the same but for the name of the output folder: the first of them is run.
FIRST = {without_output(command): command for command in reversed(RUN)}
# And the first command of each verb and script.
FIRST_OF_PROGRAM = {program_of(command): command for command in reversed(RUN)}


def marks(command: str) -> list[pytest.MarkDecorator]:
    """When a command is run: of each verb and script the first in CI, by default if it is quick; all others nightly.

    tests/training/test_scripts.py runs each script, and tests/trainer/test_loss_weights.py two processes.
    """
    first = FIRST_OF_PROGRAM[program_of(command)] == command
    if command.startswith(QUICK) and COMMANDS[command] != LECTURE_MAP:
        return [] if first else [pytest.mark.slow, pytest.mark.nightly]
    trains = command.startswith(("hf-lecture train ", "accelerate launch"))
    launches = command.startswith(("accelerate launch", "ACCELERATE_USE_CPU"))
    of_scripts = all(place.startswith("training/") for place in COMMANDS[command])
    elsewhere = re.fullmatch(PLAIN, command) or FIRST[without_output(command)] != command
    nightly = not first or elsewhere or (trains and COMMANDS[command] == LECTURE_MAP) or (launches and of_scripts)
    return [pytest.mark.slow, *([pytest.mark.nightly] if nightly else [])]


@pytest.mark.parametrize("command", [pytest.param(command, id=command, marks=marks(command)) for command in RUN])
def test_a_command_runs_as_printed(command, place, tmp_path):
    for path in place.iterdir():
        if path.name != command.split()[1]:  # `quickstart` and `ladder` write folders of their names
            (tmp_path / path.name).symlink_to(path)
    line = replaced(command)
    if command.startswith("hf-lecture demo"):
        return check_demo(line, tmp_path)
    if command.startswith("hf-lecture publish"):
        return check_publish(line, tmp_path)
    for name, package in ((".onnx", "onnxscript"), ("exec trl", "trl")):
        if name in command:
            pytest.importorskip(package)
    status, out, err = run_printed(line, tmp_path, "ann saw the c\n", HF_LECTURE_DATA=str(place / "data"))
    assert status == 0, err[-3000:]
    assert out or err
    assert "Traceback" not in err


def check_demo(line: str, folder: Path) -> None:
    """The page's address is printed, and Ctrl-C ends it."""
    pytest.importorskip("gradio")
    process, _ = start_printed(line, folder)
    assert "http://" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (130, False)


def check_publish(line: str, folder: Path) -> None:
    """To a Hub of our own, for this process; huggingface_hub read its settings when it was imported."""
    with stand_in_hub("hf_token") as hub, pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        patch.setattr(constants, "ENDPOINT", hub.url)
        patch.setenv("HF_TOKEN", "hf_token")
        patch.chdir(folder)
        with pytest.raises(SystemExit) as stop:
            app(shlex.split(line)[1:], prog_name="hf-lecture")
        assert not stop.value.code
        assert "model.safetensors" in hub.commits("somebody/lstm")[-1].files


def test_the_stand_ins_are_models(place):
    assert len(AutoTokenizer.from_pretrained(place / "lstm")) > 12
