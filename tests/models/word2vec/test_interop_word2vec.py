# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Word vectors in other programs: adapters by peft, ONNX, cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from hf_lecture_models import Word2VecConfig, Word2VecForPreTraining, Word2VecModel
from hf_lecture_models.hub.card import render_card, write_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.hub.onnx import export_onnx
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.main import train_from_command
from hf_lecture_models.tasks.registry import measure_file
from hf_lecture_models.tasks.word_vectors import WordVectors
from tests.hub.card_examples import examples
from tests.model_tests import token_inputs

RECIPE = Path(__file__).parents[3] / "training" / "recipes" / "word2vec_tiny.yaml"
CONFIG = {"vocab_size": 20, "hidden_size": 6, "unk_token_id": 0, "bos_token_id": 17, "eos_token_id": 18}


@pytest.mark.slow
def test_adapters_train_merge_and_reload(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    base = Word2VecForPreTraining(Word2VecConfig(**CONFIG, architecture="cbow"))
    torch.nn.init.normal_(base.output.weight)
    base.save_pretrained(tmp_path / "base")
    options: dict[str, Any] = {"r": 2, "target_modules": ["embed_tokens"], "modules_to_save": ["output"]}
    adapted = peft.get_peft_model(base, peft.LoraConfig(**options))
    inputs = token_inputs(base.config, (6, 4, 5))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    optimizer, losses = torch.optim.Adam(trained, lr=0.05), []
    for _ in range(100):
        optimizer.zero_grad()
        losses.append(adapted(**inputs, labels=inputs["input_ids"]).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.8 * losses[0]
    expected = adapted.eval()(**inputs).last_hidden_state
    adapted.save_pretrained(tmp_path / "adapter")
    again = peft.PeftModel.from_pretrained(
        Word2VecForPreTraining.from_pretrained(tmp_path / "base"), tmp_path / "adapter"
    )
    assert_close(again.eval()(**inputs).last_hidden_state, expected, rtol=0, atol=1e-6)
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    merged = Word2VecForPreTraining.from_pretrained(tmp_path / "merged").eval()
    assert_close(merged(**inputs).last_hidden_state, expected, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_onnx_gives_the_same_vectors(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    assert export_onnx(Word2VecModel(Word2VecConfig(**CONFIG)).eval(), tmp_path / "model.onnx") < 1e-6


def test_the_card_of_a_trained_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its example prints what it promises; the file's measure is that of the training."""
    result = train_from_command(WordVectors(), [str(RECIPE), "--epochs", "4", "--output_dir", str(tmp_path)])[0]
    model, tokenizer = load_model(str(tmp_path))
    facts = facts_of(tmp_path, model, tokenizer)
    card = render_card(facts)
    assert card.data.pipeline_tag == "feature-extraction"
    assert f"| loss of a pair of words (nats) | {result.best_metric:#.4g} |" in card.text
    assert "pairs read" in card.text
    assert "training/train_word2vec.py recipe.yaml" in card.text
    monkeypatch.chdir(tmp_path)
    exec(compile(examples(write_card(tmp_path, facts))[0], "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("<s> [0.0, 0.0, 0.0]\n")
    (tmp_path / "texts.txt").write_text("the king of the land\nthe cat sleeps\n")
    measured = measure_file(tmp_path / "texts.txt", model, tokenizer, facts)["results"]
    assert measured["words"] == 8
    assert measured["pair_loss"] > 0
