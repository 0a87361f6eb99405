# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What `generate()` may keep: caches by name, and the pages of continuous batching; who has none says so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import CompileConfig, ContinuousBatchingConfig, GenerationConfig

from hf_lecture_models import NGramConfig, NGramForCausalLM
from tests.forked_python import PATIENCE
from tests.interop.small_models import small_model, small_tokenizer
from tests.models.test_packed_texts import KINDS, build

PROMPTS = [[1, 2, 3, 4], [5, 6, 7], [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 2], [9, 8, 7, 6, 5, 4, 3, 2, 3], [4]]
GREEDY: dict[str, Any] = {"max_new_tokens": 7, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
PADDED = {
    "input_ids": torch.tensor([[1, 2, 3, 4], [0, 5, 6, 7]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]]),
}


def without_keys_and_values(name: str) -> Any:
    if name == "ngram":
        return NGramForCausalLM(NGramConfig(vocab_size=20, order=2))
    return small_model(name, small_tokenizer()).eval()


def pages(model: Any, prompts: list[list[int]], new: int = 7, **sizes: int) -> list[Any]:
    """What continuous batching makes of each prompt."""
    config = GenerationConfig(max_new_tokens=new, do_sample=False, eos_token_id=-1)
    paging = ContinuousBatchingConfig(**{"num_blocks": 40, "max_batch_tokens": 64} | sizes, return_logprobs=True)
    found = list(model.generate_batch(prompts, config, paging).values())
    assert [result.error for result in found] == [None] * len(prompts)
    return found


def continued(model: Any, prompt: list[int]) -> tuple[list[int], torch.Tensor]:
    """What `generate()` makes of it, and the log-probability of each new token."""
    shown = {"return_dict_in_generate": True, "output_logits": True}
    found = model.generate(torch.tensor([prompt]), **GREEDY, **shown)
    tokens = found.sequences[0, len(prompt) :]
    return tokens.tolist(), torch.cat(found.logits).log_softmax(-1).gather(1, tokens[:, None])[:, 0]


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize(
    ("kind", "implementation"),
    [
        # Each takes seconds: one that masks, and one that adds a bias, say most.
        pytest.param(
            kind,
            implementation,
            marks=[] if (kind, implementation) in {("gpt1", "sdpa"), ("relative", "eager")} else pytest.mark.slow,
        )
        for kind in KINDS
        for implementation in ("eager", "sdpa")
    ],
)
def test_continuous_batching_equals_generation(kind: str, implementation: str) -> None:
    """All prompts at once; in pieces of 5 tokens, shorter than a prompt; and over shared pages of 4 tokens."""
    model = build(kind, implementation, tie_word_embeddings=False)
    torch.nn.init.normal_(model.lm_head.weight, std=2.0)
    expected = [continued(model, prompt) for prompt in PROMPTS]
    assert len({tuple(tokens) for tokens, _ in expected}) > 2, "prompts go on alike"
    ways: list[dict[str, int]] = [{}, {"max_batch_tokens": 5}, {"page_size": 4}]
    for sizes in [*ways, {"shown": 1}] if implementation == "eager" else ways:
        model.config.output_attentions = bool(sizes.pop("shown", 0))
        for result, (tokens, log_probs) in zip(pages(model, PROMPTS, **sizes), expected, strict=True):
            assert result.generated_tokens == tokens
            torch.testing.assert_close(torch.tensor(result.logprobs), log_probs, rtol=0, atol=1e-4)
    assert model.config._attn_implementation == implementation


@pytest.mark.parametrize("kind", ["gpt1", pytest.param("learned", marks=pytest.mark.slow)])
def test_continuous_batching_ends_with_the_positions(kind: str) -> None:
    model = build(kind, max_position_embeddings=8)
    assert [len(result.generated_tokens) for result in pages(model, PROMPTS[:1], new=5)] == [5]
    with pytest.raises(ValueError, match="a prompt of 4 tokens and 6 new ones are more than .* can read, 8 in all"):
        pages(model, PROMPTS[:1], new=6)


def test_one_request_does_not_end_the_others() -> None:
    """As a server has them, one after the other: an error in transformers' thread would be the end of all."""
    model = build("gpt1", max_position_embeddings=8)
    paging = ContinuousBatchingConfig(num_blocks=40, max_batch_tokens=64)
    with model.continuous_batching_context_manager(
        generation_config=GenerationConfig(do_sample=False, eos_token_id=-1), continuous_batching_config=paging
    ) as manager:
        with pytest.raises(ValueError, match="a prompt of 9 tokens is longer than Gpt1ForCausalLM can read, 8 tokens"):
            manager.add_request(list(range(9)))
        for prompt, given, new in (([1, 2, 3, 4], 100, 5), ([1, 2, 3, 4], 2, 2), ([1] * 8, 4, 1)):
            request = manager.add_request(prompt, max_new_tokens=given)
            result = manager.get_result(request_id=request, timeout=PATIENCE)
            assert (result.error, len(result.generated_tokens)) == (None, new)


@pytest.mark.parametrize("name", ["recurrent", "feed_forward", "ngram"])
def test_no_pages_without_keys_and_values(name: str) -> None:
    model = without_keys_and_values(name)
    message = f"{type(model).__name__} has no keys and values, .*continuous batching .*use generate"
    for call in (
        lambda: pages(model, PROMPTS),
        model.init_continuous_batching,
        lambda: model.generate(PADDED["input_ids"], cache_implementation="paged", **GREEDY),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("cache", ["static", "sliding_window"])
@pytest.mark.parametrize("kind", KINDS)
def test_caches_by_name(kind: str, cache: str, implementation: str) -> None:
    """transformers takes the second for the first, where no layer reads a window."""
    model = build(kind, implementation)
    for options in (GREEDY, GREEDY | {"num_beams": 3}):
        expected = model.generate(**PADDED, **options)
        assert torch.equal(model.generate(**PADDED, **options, cache_implementation=cache), expected)
    shown = {"return_dict_in_generate": True, "output_attentions": True, "output_logits": True}
    found, plain = (
        model.generate(**PADDED, **GREEDY, **shown, **more) for more in ({"cache_implementation": cache}, {})
    )
    torch.testing.assert_close(torch.stack(found.logits), torch.stack(plain.logits), rtol=0, atol=1e-5)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_behind_a_prompt_takes_no_place(kind: str, use_cache: bool) -> None:
    """The first new token comes from what stands last, as in any model; the others follow prompt and first token."""
    model = build(kind, tie_word_embeddings=False)
    torch.nn.init.normal_(model.lm_head.weight, std=2.0)
    ids, mask = torch.tensor([[9, 8, 7, 6, 5], [5, 6, 7, 0, 0]]), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    shown = {"return_dict_in_generate": True, "output_logits": True}
    found = model.generate(ids, attention_mask=mask, use_cache=use_cache, **GREEDY, **shown)
    first = int(found.sequences[1, 5])
    for row, prompt in enumerate(([9, 8, 7, 6, 5], [5, 6, 7, first])):
        tokens, log_probs = continued(model, prompt)
        assert found.sequences[row, 5 + row :].tolist() == tokens[: 7 - row]
        logits = torch.stack(found.logits[row:])[:, row].log_softmax(-1)
        chosen = logits.gather(1, found.sequences[row, 5 + row :, None])[:, 0]
        torch.testing.assert_close(chosen, log_probs[: 7 - row], rtol=0, atol=1e-4)


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in ("gpt1", "relative") else pytest.mark.slow) for kind in KINDS],
)
def test_a_static_cache_compiles_into_one_graph(kind: str) -> None:
    """As `generate()` does by itself on a GPU; on the CPU, where it is told to."""
    model, compiling = build(kind), CompileConfig(backend="eager", fullgraph=True, mode=None)
    compiling._compile_all_devices = True
    expected = model.generate(**PADDED, **GREEDY)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    found = model.generate(**PADDED, **GREEDY, cache_implementation="static", compile_config=compiling)
    assert torch.equal(found, expected)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is a GPU to offload from")
@pytest.mark.parametrize("cache", ["offloaded", "offloaded_static"])
@pytest.mark.parametrize("kind", KINDS)
def test_offloading_needs_a_gpu(kind: str, cache: str) -> None:
    with pytest.raises(ValueError, match=f"cache_implementation='{cache}' moves keys and values .* no GPU"):
        build(kind).generate(**PADDED, **GREEDY, cache_implementation=cache)


@pytest.mark.parametrize("cache", ["static", "dynamic", "offloaded", "quantized", "sliding_window"])
@pytest.mark.parametrize("name", ["recurrent", "feed_forward", "ngram"])
def test_no_cache_of_keys_and_values(name: str, cache: str) -> None:
    model = without_keys_and_values(name)
    message = (
        f"cache_implementation='{cache}' names a cache of keys and values, of which {type(model).__name__} has none"
    )
    with pytest.raises(ValueError, match=message):
        model.generate(**PADDED, **GREEDY, cache_implementation=cache)
