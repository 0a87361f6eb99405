# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Image captioning: what every model must do, with transformers' ViT and GPT-2 as the reference, and its own checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.func import functional_call
from torch.testing import assert_close
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    DynamicCache,
    GPT2Config,
    PreTrainedModel,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    pipeline,
)
from transformers.pipelines.pt_utils import KeyDataset

from hf_lecture_models import (
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
    ImageCaptioningModel,
    LectureViTConfig,
    LectureViTModel,
    WordTokenizer,
)
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.base.heads.seq2seq_lm import shift_right
from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.hub import export
from tests.model_tests import (
    HeadTests,
    ImageTests,
    Tensors,
    gradients,
    perturb,
    token_inputs,
    uncompiled_flex_attention,
)
from tests.models.official_checkpoints import assert_same_gradients
from tests.tasks.many_inputs import check_forms, check_laziness

TARGET = 6
WORDS = "a dark medium bright shirt shoe bag with more ink on the left right"
SHAPE = {"image_size": 12, "patch_size": 4, "num_channels": 1, "hidden_size": 12, "num_hidden_layers": 2}
SHAPE |= {"num_attention_heads": 3, "intermediate_size": 24, "decoder_layers": 3, "decoder_attention_heads": 2}
SHAPE |= {"decoder_ffn_dim": 20, "vocab_size": 18, "max_position_embeddings": 16, "hidden_dropout_prob": 0.1}
SHAPE |= {"bos_token_id": 15, "eos_token_id": 16, "pad_token_id": 17, "decoder_start_token_id": 15}


def small(**changes: Any) -> ImageCaptioningConfig:
    return ImageCaptioningConfig(**{**SHAPE, **changes})


def tokenizer() -> WordTokenizer:
    return WordTokenizer.train([WORDS], add_bos_token=False, add_eos_token=True, progress=False)


def processor() -> ImageTextProcessor:
    words = tokenizer()
    words.padding_side = "right"
    return ImageTextProcessor(GrayscaleImageProcessor(size={"height": 12, "width": 12}), words)


def peer(config: ImageCaptioningConfig) -> Any:
    """transformers' ViT, and its GPT-2 with cross-attention, of the same shape."""
    names = ("image_size", "patch_size", "num_channels", "hidden_size", "num_hidden_layers", "num_attention_heads")
    shape = {name: getattr(config, name) for name in (*names, "intermediate_size", "hidden_act", "layer_norm_eps")}
    decoder = GPT2Config(
        vocab_size=config.vocab_size,
        n_positions=config.max_position_embeddings,
        n_embd=config.hidden_size,
        n_layer=config.decoder_layers or config.num_hidden_layers,
        n_head=config.decoder_attention_heads or config.num_attention_heads,
        n_inner=config.decoder_ffn_dim or config.intermediate_size,
        activation_function=config.hidden_act,
        layer_norm_epsilon=config.layer_norm_eps,
        add_cross_attention=True,
        is_decoder=True,
        tie_word_embeddings=config.tie_word_embeddings,
        bos_token_id=config.bos_token_id,
        eos_token_id=config.eos_token_id,
    )
    both = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**shape), decoder)
    both.pad_token_id, both.decoder_start_token_id = config.pad_token_id, config.decoder_start_token_id
    both.tie_word_embeddings = config.tie_word_embeddings
    model = VisionEncoderDecoderModel(both).eval()
    model.generation_config.decoder_start_token_id = config.decoder_start_token_id
    model.generation_config.pad_token_id, model.generation_config.eos_token_id = config.pad_token_id, None
    return model


def their_weights(model: Any) -> Tensors:
    """The weights under transformers' names; gradients flow back to the model's own. GPT-2's are transposed."""
    found: Tensors = {}
    encoder, decoder = model.model.encoder, model.model.decoder
    base, words = "encoder.", "decoder.transformer."
    names = {"embeddings.cls_token": encoder.embeddings.cls_token}
    names |= {"embeddings.position_embeddings": encoder.embeddings.position_embeddings}
    found |= {base + name: tensor for name, tensor in names.items()}

    def put(prefix: str, module: Any, turned: bool = False) -> None:
        found[f"{prefix}.weight"] = module.weight.T if turned else module.weight
        found[f"{prefix}.bias"] = module.bias

    put(f"{base}embeddings.patch_embeddings.projection", encoder.embeddings.embed_patches)
    put(f"{base}layernorm", encoder.norm)
    for index, block in enumerate(encoder.layers):
        at = f"{base}layers.{index}."
        for part, kind in ((part, kind) for part in range(3) for kind in ("weight", "bias")):
            found[f"{at}attention.{'qkv'[part]}_proj.{kind}"] = getattr(block.self_attn.qkv_proj, kind).chunk(3)[part]
        put(f"{at}attention.o_proj", block.self_attn.o_proj)
        put(f"{at}layernorm_before", block.attention_norm)
        put(f"{at}layernorm_after", block.ffn_norm)
        put(f"{at}mlp.fc1", block.ffn.up_proj)
        put(f"{at}mlp.fc2", block.ffn.down_proj)
    found[f"{words}wte.weight"] = decoder.embed_tokens.weight
    found[f"{words}wpe.weight"] = decoder.position_encoding.embed_positions.weight
    put(f"{words}ln_f", decoder.norm)
    for index, block in enumerate(decoder.layers):
        at = f"{words}h.{index}."
        norms = {"ln_1": block.attention_norm, "ln_cross_attn": block.cross_attention_norm, "ln_2": block.ffn_norm}
        for name, norm in norms.items():
            put(at + name, norm)
        put(f"{at}attn.c_attn", block.self_attn.qkv_proj, turned=True)
        put(f"{at}attn.c_proj", block.self_attn.o_proj, turned=True)
        put(f"{at}crossattention.q_attn", block.cross_attn.q_proj, turned=True)
        put(f"{at}crossattention.c_attn", block.cross_attn.kv_proj, turned=True)
        put(f"{at}crossattention.c_proj", block.cross_attn.o_proj, turned=True)
        put(f"{at}mlp.c_fc", block.ffn.up_proj, turned=True)
        put(f"{at}mlp.c_proj", block.ffn.down_proj, turned=True)
    if not model.config.tie_word_embeddings:
        found["decoder.lm_head.weight"] = model.lm_head.weight
    return found


class CaptioningTests(ImageTests):
    """Not collected by itself: what both classes declare in common."""

    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"hidden_size": 12, "decoder_attention_heads": 5},
        {"image_size": 13, "patch_size": 4},
        {"patch_size": 0},
        {"decoder_layers": 0},
        {"decoder_ffn_dim": 0},
        {"max_position_embeddings": 0},
        {"image_size": 2**20},
        {"hidden_dropout_prob": 1.0},
        {"attention_probs_dropout_prob": -0.1},
        {"is_encoder_decoder": False},
        {"vocab_size": 17, "pad_token_id": 17},
        {"pach_size": 4},
    )

    def config(self) -> ImageCaptioningConfig:
        return small()

    def targets(self, batch: int) -> Tensor:
        """Labels of unequal lengths, (batch, TARGET)."""
        target = token_inputs(self.config(), [(TARGET, 4, 5, 3)[row % 4] for row in range(batch)], seed=7)
        return target["input_ids"].masked_fill(target["attention_mask"] == 0, -100)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        start, pad = self.config().decoder_start_token_id, self.config().pad_token_id
        return super().make_inputs(batch, lengths) | {"decoder_input_ids": shift_right(self.targets(batch), start, pad)}

    @torch.no_grad()
    def test_what_is_no_image_is_refused(self) -> None:
        """By a ValueError that says what to give."""
        model, inputs = self.build(), self.make_inputs(2, (1, 1))
        images = inputs["pixel_values"]
        wrong: list[tuple[Any, str]] = [
            (None, r"pixel_values: \(batch, .* image processor"),
            (images[0], r"pixel_values: \(batch, .* image processor"),
            ((images * 9).byte(), "pixel_values are of type torch.uint8"),
            (torch.cat((images, images), 1), "have 2 channels, .* num_channels=1"),
            (images[..., 1:], "images of 12 x 11 pixels cannot be cut into patches"),
            (torch.cat((images, images), 3), "interpolate_pos_encoding=True"),
            (images[:1], "decoder_input_ids has 2 row.*the source 1"),
        ]
        for given, message in wrong:
            with pytest.raises(ValueError, match=message):
                model(pixel_values=given, decoder_input_ids=inputs["decoder_input_ids"])

    @torch.no_grad()
    def test_images_of_another_size(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (1, 1))
        inputs["pixel_values"] = torch.randn(2, 1, 24, 12)
        outputs = model(**inputs, interpolate_pos_encoding=True)
        assert outputs.encoder_last_hidden_state.shape == (2, 19, 12)
        assert all(tensor.isfinite().all() for tensor in outputs.values() if isinstance(tensor, Tensor))

    @torch.no_grad()
    def test_states_on_request(self) -> None:
        model, inputs = self.build(), self.make_inputs(2, (1, 1))
        shown = model(**inputs, output_hidden_states=True, output_attentions=True)
        assert {state.shape for state in shown.encoder_hidden_states} == {(2, 10, 12)}
        assert {state.shape for state in shown.decoder_hidden_states} == {(2, TARGET, 12)}
        assert [len(shown.encoder_attentions), len(shown.decoder_attentions), len(shown.cross_attentions)] == [2, 3, 3]
        assert {weights.shape for weights in shown.cross_attentions} == {(2, 2, TARGET, 10)}
        for weights in shown.cross_attentions:
            assert_close(weights.sum(-1), torch.ones(2, 2, TARGET))
        assert model(**inputs).cross_attentions is None


class TestImageCaptioningModel(CaptioningTests):
    model_class = ImageCaptioningModel

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        headed = ImageCaptioningForConditionalGeneration(model.config)
        headed.model, headed.lm_head.weight = model, model.decoder.embed_tokens.weight
        theirs = peer(model.config)
        given = dict(their_weights(headed).items())
        shown = functional_call(theirs, given, kwargs={**inputs, "output_hidden_states": True})
        return {
            "last_hidden_state": shown.decoder_hidden_states[-1],
            "encoder_last_hidden_state": shown.encoder_last_hidden_state,
        }


class TestImageCaptioning(CaptioningTests, HeadTests):
    model_class = ImageCaptioningForConditionalGeneration
    auto_class = AutoModelForImageTextToText
    pipeline_task = "image-captioning"
    overfit = {"learning_rate": 0.005}

    def processing_class(self) -> Any:
        return processor()

    def make_labels(self, inputs: Tensors) -> Tensors:
        return {"labels": self.targets(len(inputs["pixel_values"]))}

    def generation_inputs(self) -> Tensors | None:
        return {"pixel_values": self.make_inputs(3, (5, 3, 4))["pixel_values"]}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)["labels"]
        outside = labels.clone()
        outside[0, 2] = 10_000
        return [{"labels": wrong} for wrong in (labels[:, 1:], outside, labels.float(), labels[0])]

    def reference(self, model: Any, inputs: Tensors) -> Tensors:
        theirs = peer(model.config)
        weights = their_weights(model)
        names = {name for name, _ in theirs.named_parameters() if not name.startswith("encoder.pooler.")}  # not read
        assert weights.keys() == names
        return {"logits": functional_call(theirs, weights, kwargs=dict(inputs)).logits}

    def results(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        images = inputs["pixel_values"]
        return self.outputs(model, inputs) | {
            "loss": self.training_loss(model, inputs),
            "generated": self.generate(model, images),
            "generated by beams": self.generate(model, images, num_beams=3),
        }

    def generate(self, model: Any, images: Tensor, **options: Any) -> Any:
        """Generate without an end token, so that all rows grow to the same length."""
        model.generation_config.eos_token_id = None
        return model.generate(pixel_values=images, **{"max_new_tokens": 6, "do_sample": False, **options})

    def copies(self) -> tuple[Any, Any]:
        """Our model, and transformers' with the same weights."""
        ours: Any = self.build()
        with torch.no_grad():
            decoder = ours.model.decoder
            decoder.norm.bias.zero_()
            for layer in decoder.layers:  # so that the images decide
                layer.cross_attn.o_proj.bias.zero_()
                layer.cross_attn.o_proj.weight.mul_(9)
                layer.cross_attn.kv_proj.weight.mul_(3)
                layer.self_attn.o_proj.weight.mul_(0.3)
        theirs = peer(ours.config)
        theirs.load_state_dict({n: t.detach() for n, t in their_weights(ours).items()}, strict=False)
        theirs.tie_weights()
        return ours, theirs

    def test_loss_and_gradients_equal_transformers(self) -> None:
        """Of every weight, from labels with padding, which both shift behind the start token."""
        ours, theirs = self.copies()
        inputs = self.make_inputs(3, (1, 1, 1))
        given = {"pixel_values": inputs["pixel_values"], "labels": self.targets(3)}
        found, expected = ours(**given).loss, theirs(**given).loss
        assert_close(found, expected)
        named = gradients(ours, found)
        with torch.no_grad():
            for name, parameter in ours.named_parameters():
                parameter.copy_(named[name])
        others = gradients(theirs, expected)
        assert_same_gradients(their_weights(ours), {n: g for n, g in others.items() if ".pooler." not in n})

    @torch.no_grad()
    def test_captions_equal_transformers(self) -> None:
        """Greedy and by beams with their scores, with a cache and without."""
        ours, theirs = self.copies()
        images = self.make_inputs(4, (1,) * 4)["pixel_values"]
        for options in ({}, {"num_beams": 3, "num_return_sequences": 3, "output_scores": True}):
            for use_cache in (True, False):
                given = {**options, "use_cache": use_cache, "return_dict_in_generate": True}
                found, expected = (self.generate(model, images, **given) for model in (ours, theirs))
                assert torch.equal(found.sequences, expected.sequences)
                if options:
                    assert_close(found.sequences_scores, expected.sequences_scores, rtol=0, atol=1e-4)
                    assert (found.beam_indices[:, 1:-1] != found.beam_indices[:, :1]).any()
        captions = set(map(tuple, found.sequences.tolist()))
        assert len(captions) > 3, "all images get the same captions"

    @torch.no_grad()
    def test_weights_on_patches_equal_transformers(self) -> None:
        """Which computes them by its eager kernel alone."""
        ours, theirs = self.copies()
        theirs.set_attn_implementation("eager")
        inputs = self.make_inputs(2, (1, 1))
        found, expected = (model(**inputs, output_attentions=True).cross_attentions for model in (ours, theirs))
        for weights, other in zip(found, expected, strict=True):
            assert_close(weights, other, rtol=0, atol=1e-5)

    @torch.no_grad()
    def test_the_encoder_runs_once(self) -> None:
        model, calls = self.build(), []
        model.get_encoder().register_forward_hook(lambda *call: calls.append(1))
        for layer in model.model.decoder.layers:
            layer.cross_attn.kv_proj.register_forward_hook(lambda *call: calls.append(1))
        self.generate(model, self.make_inputs(2, (1, 1))["pixel_values"], num_beams=2)
        assert len(calls) == 1 + 3

    @pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (3, 1, 2)], ids=str)
    @torch.no_grad()
    def test_cache_equals_no_cache(self, sizes: Sequence[int]) -> None:
        model, inputs = self.build(), self.make_inputs(3, (1, 1, 1))
        target = inputs["decoder_input_ids"][:, : sum(sizes)]
        whole = model(inputs["pixel_values"], decoder_input_ids=target, use_cache=False)
        encoded, cache, pieces, end = model.get_encoder()(inputs["pixel_values"]), None, [], 0
        for size in sizes:
            piece = target[:, end : end + size]
            output = model(decoder_input_ids=piece, encoder_outputs=encoded, past_key_values=cache, use_cache=True)
            cache, end = output.past_key_values, end + size
            pieces.append(output.logits)
        self.assert_equal({"logits": torch.cat(pieces, 1)}, {"logits": whole.logits}, f"in pieces of {sizes}")
        with pytest.raises(ValueError, match="EncoderDecoderCache"):
            model(inputs["pixel_values"], decoder_input_ids=target, past_key_values=DynamicCache())

    @torch.no_grad()
    def test_what_moves_a_prediction(self) -> None:
        """Every patch and no later token, on every attention implementation."""
        model, inputs = self.build(), self.make_inputs(2, (1, 1))
        image, tokens = inputs["pixel_values"][:1], inputs["decoder_input_ids"][:1]
        for implementation in self.attention_implementations(model):
            model.set_attn_implementation(implementation)
            with uncompiled_flex_attention():
                before = model(image, decoder_input_ids=tokens).logits[0]
                for place in range(9):
                    other = image.clone()
                    row, column = 4 * (place // 3), 4 * (place % 3)
                    other[..., row : row + 4, column : column + 4] += 1
                    moved = model(other, decoder_input_ids=tokens).logits[0]
                    assert ((moved - before).abs().amax(-1) > self.tolerance).all()
                for place in range(TARGET):
                    changed = tokens.clone()
                    changed[0, place] = (tokens[0, place] + 1) % 15
                    moved = (model(image, decoder_input_ids=changed).logits[0] - before).abs().amax(-1)
                    assert (moved[:place] <= self.tolerance).all()
                    assert moved[place] > self.tolerance

    def test_loss_without_all_logits(self) -> None:
        inputs = self.make_inputs(3, (1, 1, 1))
        self.check_loss_in_pieces({"pixel_values": inputs["pixel_values"], **self.make_labels(inputs)})

    @torch.no_grad()
    def test_untied_output_and_more_words(self, tmp_path: Path) -> None:
        model = ImageCaptioningForConditionalGeneration(small(tie_word_embeddings=False)).eval()
        perturb(model, 0.3)
        inputs = self.make_inputs(2, (1, 1))
        assert_close(model(**inputs).logits, self.reference(model, inputs)["logits"], rtol=0, atol=1e-5)
        tied = self.build()
        for either in (tied, model):
            before = either(**inputs).logits
            either.resize_token_embeddings(20)
            after = either(**inputs).logits
            assert after.shape[-1] == 20
            assert after.isfinite().all()
            assert_close(after[..., :18], before, rtol=0, atol=1e-5)
            either.save_pretrained(tmp_path)
            loaded = ImageCaptioningForConditionalGeneration.from_pretrained(tmp_path)
            assert torch.equal(loaded(**inputs).logits, after)
        assert tied.lm_head.weight is tied.model.decoder.embed_tokens.weight

    def test_captions_past_the_limit_are_refused(self) -> None:
        model, image = self.build(), torch.randn(1, 1, 12, 12)
        with pytest.raises(ValueError, match=r"position 16.*max_position_embeddings=16"):
            model(image, labels=torch.ones(1, 17, dtype=torch.long))
        with pytest.raises(ValueError, match="give labels, or decoder_input_ids"):
            model(image)


# The encoder is that of our Vision Transformer


@torch.no_grad()
def test_the_encoder_is_our_vision_transformer() -> None:
    """The same names and numbers, so that its weights can be copied."""
    names = set(LectureViTConfig.__dataclass_fields__) & SHAPE.keys()
    vit = LectureViTModel(LectureViTConfig(**{name: SHAPE[name] for name in names}), add_pooling_layer=False).eval()
    perturb(vit, 0.4)
    encoder = ImageCaptioningModel(small()).encoder.eval()
    encoder.load_state_dict(vit.state_dict())
    images = torch.randn(2, 1, 12, 12)
    assert torch.equal(encoder(images).last_hidden_state, vit(images).last_hidden_state)


# Processor and pipeline


def test_the_processor_of_both(tmp_path: Path) -> None:
    """Saved and exported folders give it through `AutoProcessor`, with its parts through their own Auto classes."""
    torch.manual_seed(0)
    model, both = ImageCaptioningForConditionalGeneration(small()), processor()
    model.save_pretrained(tmp_path / "saved")
    both.save_pretrained(tmp_path / "saved")
    export(model, both, tmp_path / "exported")
    image = Image.fromarray(np.arange(144, dtype=np.uint8).reshape(12, 12))
    expected = both(images=[image, image], text_target=["a dark shirt", "a bag"], return_tensors="pt", padding=True)
    assert expected["labels"].tolist()[1][3:] == [-100]
    for folder in ("saved", "exported"):
        loaded = AutoProcessor.from_pretrained(tmp_path / folder)
        assert type(loaded) is ImageTextProcessor
        found = loaded(images=[image, image], text_target=["a dark shirt", "a bag"], return_tensors="pt", padding=True)
        assert found.keys() == expected.keys() == {"pixel_values", "labels"}
        assert all(torch.equal(found[name], expected[name]) for name in expected)
        assert model(**found).loss.isfinite()
    with pytest.raises(ValueError, match=r"2 image\(s\) and 1 text\(s\)"):
        both(images=[image, image], text_target="a bag", return_tensors="pt")
    with pytest.raises(ValueError, match="needs images, texts, or both"):
        both()


def test_the_pipeline_takes_images_of_every_kind(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, both = ImageCaptioningForConditionalGeneration(small()), processor()
    perturb(model, 0.5)
    model.tie_weights()
    captioner = pipeline(
        "image-captioning", model=model, tokenizer=both.tokenizer, image_processor=both.image_processor
    )
    array = np.random.default_rng(0).integers(0, 256, (12, 12), dtype=np.uint8)
    image = Image.fromarray(array)
    image.save(tmp_path / "image.png")
    expected = captioner(image, max_new_tokens=5)
    assert expected.keys() == {"generated_text"}
    for kind in (str(tmp_path / "image.png"), array, array[None], torch.from_numpy(array), image.convert("RGB")):
        assert captioner(kind, max_new_tokens=5) == expected
    assert captioner([image, array], max_new_tokens=5, batch_size=1) == [expected, expected]
    with pytest.raises(ValueError, match="batch_size is 0"):
        captioner(image, batch_size=0)
    assert list(captioner((each for each in [image]), max_new_tokens=5)) == [expected]
    answers = lambda inputs, **size: captioner(inputs, max_new_tokens=5, **size)  # noqa: E731
    other = Image.fromarray(255 - array)
    items = [image, other, image]
    check_forms(answers, items, captioner(items, max_new_tokens=5), columns=False)
    check_laziness(answers, image)
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"image": items}, datasets.Features({"image": datasets.Image()}))
    for given in (rows["image"], KeyDataset(rows, "image")):
        assert list(answers(given)) == captioner(items, max_new_tokens=5)
    with pytest.raises(TypeError, match="a row of the columns image; name the column"):
        next(captioner(rows))
    several = captioner(image, num_beams=3, num_return_sequences=2, max_new_tokens=5)
    assert several[0]["score"] >= several[1]["score"]
    for wrong, message in (({"max_new_tokens": 17}, "from 1 to 16"), ({"max_new_tokens": 0}, "max_new_tokens is 0")):
        with pytest.raises(ValueError, match=message):
            captioner(image, **wrong)
    for wrong_array in (array.astype(float), array[None, None], array.reshape(2, 6, 12)):
        with pytest.raises(ValueError, match="an array of shape .* cannot be an image"):
            captioner(wrong_array)
    with pytest.raises(TypeError, match="is of type int; give a path, bytes, a Pillow image or an array"):
        captioner([3])


class TestWithoutDecoderFields(TestImageCaptioning):
    """The decoder as the encoder, another activation, an output matrix of its own."""

    def config(self) -> ImageCaptioningConfig:
        none = dict.fromkeys(("decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"))
        return small(**none, hidden_act="gelu_new", tie_word_embeddings=False)

    test_states_on_request = None  # type: ignore[assignment]  # of other numbers of layers and heads
    test_the_encoder_runs_once = None  # type: ignore[assignment]
    test_untied_output_and_more_words = None  # type: ignore[assignment]
