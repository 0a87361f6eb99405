# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture generate`: prompts from options, files and standard input."""

import json

import pytest
from transformers import AutoTokenizer

from hf_lecture_models.models.gpt1 import Gpt1Config, Gpt1ForCausalLM
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer


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


def test_generate_with_a_second_models_scores(run, network, folder, tmp_path):
    options = ["-p", "the cat", "--max-new-tokens", 4]
    _, alone, _ = run("generate", folder, *options)
    status, fused, _ = run("generate", network, *options, "--fuse", folder, "--fuse-weight", 1e4)
    assert (status, fused) == (0, alone)
    assert run("generate", network, *options, "--fuse", folder, "--fuse-weight", 0)[1] != alone
    status, _, err = run("generate", network, *options, "--fuse", folder)
    assert status == 2
    assert "--fuse MODEL and --fuse-weight NUMBER go together" in " ".join(err.split())
    other = WordTokenizer.train(["another text"], progress=False)
    NGramForCausalLM.fit(["another text"], other, order=2, smoothing="add_alpha", progress=False).save_pretrained(
        tmp_path
    )
    other.save_pretrained(tmp_path)
    status, _, err = run("generate", network, *options, "--fuse", tmp_path, "--fuse-weight", 1)
    assert status == 1
    assert "different vocabularies" in err


def test_generate_stops_where_the_model_can_read_no_more(run, folder, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 8}
    model = Gpt1ForCausalLM(Gpt1Config(vocab_size=len(tokenizer), **ids, **sizes))
    model.generation_config.suppress_tokens = [tokenizer.eos_token_id]
    for saved in (model, tokenizer):
        saved.save_pretrained(tmp_path)
    status, out, err = run("generate", tmp_path, "--sample", "--json", stdin="the cat saw\n")
    assert (status, json.loads(out)["tokens"]) == (0, 5)
    assert err == "hf-lecture generate: 1 stopped at 8 tokens, the model's longest input\n"
    status, out, err = run("generate", tmp_path, "--max-new-tokens", 6, stdin="the cat saw\n")
    assert (status, out) == (1, "")
    assert "a prompt of 4 tokens and 6 new ones exceed the model's longest input, 8" in err
    assert run("generate", tmp_path, "--max-new-tokens", 5, stdin="the cat saw\n")[::2] == (0, "")


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
