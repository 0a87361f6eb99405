# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models whose matrices optimum-quanto quantises while they are loaded; transformers saves none of these.

Runs where quanto can be imported: `PYTHONPATH=FOLDER pytest tests/interop/test_quanto.py`, with a folder that
`pip install --no-deps --target FOLDER optimum-quanto ninja` filled.
"""

import pytest
import torch

from tests.interop.installed import need

need("optimum")
pytest.importorskip("optimum.quanto")
from transformers import AutoModelForCausalLM, QuantoConfig  # noqa: E402

from tests.interop.small_models import small_model, small_tokenizer  # noqa: E402


@torch.no_grad()
@pytest.mark.parametrize("weights", ["int8", "float8"])
@pytest.mark.parametrize("name", ["gpt1", "self_attention", "feed_forward", "recurrent"])
def test_quantised_models_load_and_score(name, weights, tmp_path):
    """What quanto adds to a model is not looked for in the checkpoint."""
    fields = {"output_projection_size": 32} if name == "recurrent" else {}
    model = small_model(name, small_tokenizer(), **fields).eval()
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=QuantoConfig(weights=weights))
    assert any(type(module).__name__ == "QLinear" for module in loaded.modules())
    ids = torch.tensor([[1, 2, 3, 4]])
    torch.testing.assert_close(loaded(ids).logits, model(ids).logits, rtol=0.05, atol=0.05)
    with pytest.raises(ValueError, match="not serializable"):
        loaded.save_pretrained(tmp_path / "quantised")
