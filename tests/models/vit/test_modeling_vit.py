# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The Vision Transformer: what every model must do, with transformers' own classes as the reference, and only it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import (
    AutoModelForMaskedImageModeling,
    AutoModelForPreTraining,
    PreTrainedModel,
    ViTConfig,
    ViTForImageClassification,
    ViTForMaskedImageModeling,
    ViTImageProcessorPil,
    ViTModel,
)

from hf_lecture_models import (
    LectureViTConfig,
    LectureViTForImageClassification,
    LectureViTForMaskedImageModeling,
    LectureViTForMaskedPatchPrediction,
    LectureViTModel,
)
from hf_lecture_models.base.grayscale_images import GrayscaleImageProcessor
from hf_lecture_models.layers.patches import interpolate_positions, mean_colors
from tests.model_tests import (
    HeadTests,
    ImageClassifierTests,
    ImageTests,
    ModelTests,
    Tensors,
    cross_entropies,
    perturb,
    uncompiled_flex_attention,
)
from tests.models.official_checkpoints import assert_same_dependence, renamed, tensors

PEERS: dict[type, type] = {
    LectureViTModel: ViTModel,
    LectureViTForImageClassification: ViTForImageClassification,
    LectureViTForMaskedImageModeling: ViTForMaskedImageModeling,
}
# Ours to those of transformers' modules.
OFFICIAL = {
    "embeddings.embed_patches": "embeddings.patch_embeddings.projection",
    "self_attn.o_proj": "attention.o_proj",
    "attention_norm": "layernorm_before",
    "ffn_norm": "layernorm_after",
    "ffn.up_proj": "mlp.fc1",
    "ffn.down_proj": "mlp.fc2",
    "norm": "layernorm",
    "pooler": "pooler.dense",
}
SHAPE = {"image_size": 12, "patch_size": 4, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
SHAPE |= {"intermediate_size": 24, "num_labels": 3}


def small(**changes: Any) -> LectureViTConfig:
    return LectureViTConfig(**{**SHAPE, **changes})


def peer(model: PreTrainedModel) -> Any:
    """transformers' model of the same class and shape."""
    names = (*SHAPE, "num_channels", "hidden_act", "layer_norm_eps")
    shape = {name: getattr(model.config, name) for name in names}
    return PEERS[type(model)](ViTConfig(**shape, encoder_stride=model.config.patch_size)).eval()


def official_weights(model: PreTrainedModel) -> Tensors:
    """The model's weights under the names of transformers' modules; gradients flow back to the model's own."""
    return renamed(model, "vit", OFFICIAL, [f"attention.{part}_proj" for part in "qkv"])


def reference(model: PreTrainedModel, inputs: Tensors, **options: Any) -> Any:
    theirs = peer(model)
    weights = official_weights(model)
    assert weights.keys() == dict(theirs.named_parameters()).keys()
    return functional_call(theirs, weights, kwargs={**inputs, **options})


class ViTTests(ModelTests):
    """Not collected by itself: what all classes declare in common."""

    contradictory_configs = (
        {"hidden_act": "quick_gelu"},
        {"hidden_size": 12, "num_attention_heads": 5},
        {"image_size": 13, "patch_size": 4},
        {"patch_size": 0},
        {"num_channels": 0},
        {"image_size": 2**20},
        {"hidden_dropout_prob": 1.0},
        {"attention_probs_dropout_prob": -0.1},
        {"qkv_bias": False},
        {"pooler_act": "relu"},
        {"pooler_output_size": 5},
        {"pach_size": 4},
    )

    def config(self) -> LectureViTConfig:
        return small()

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        return tensors(reference(model, inputs))


class TestLectureViTModel(ViTTests, ImageTests):
    model_class = LectureViTModel

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        """Of both outputs."""
        target = torch.rand(12, generator=torch.Generator().manual_seed(5)) - 0.5
        return sum((output - target).square().mean() for output in self.outputs(model, inputs).values())


class TestLectureViTForImageClassification(ViTTests, ImageClassifierTests):
    """In shades of grey, whose image processor travels as code."""

    model_class = LectureViTForImageClassification

    def config(self) -> LectureViTConfig:
        return small(num_channels=1)

    def processing_class(self) -> Any:
        return GrayscaleImageProcessor(size={"height": 12, "width": 12})


class TestColorLectureViTForImageClassification(TestLectureViTForImageClassification):
    def config(self) -> LectureViTConfig:
        return small(hidden_act="gelu_new")

    def processing_class(self) -> Any:
        return ViTImageProcessorPil(size={"height": 12, "width": 12})


class MaskedImageTests(ViTTests, ImageTests, HeadTests):
    """Not collected by itself."""

    def masked(self, inputs: Tensors) -> Tensor:
        """In each row another number of patches; of a third row, none."""
        rows, patches = len(inputs["pixel_values"]), self.config().num_patches
        masked = torch.rand(rows, patches, generator=torch.Generator().manual_seed(1)) < 0.5
        masked[2:3] = False
        return masked


class TestLectureViTForMaskedImageModeling(MaskedImageTests):
    model_class = LectureViTForMaskedImageModeling
    auto_class = AutoModelForMaskedImageModeling
    # Noise under the masks cannot be told from what is seen, but by heart; the mask itself tells nothing of an image.
    overfit = {"steps": 300, "learning_rate": 0.01, "remaining": 0.5}

    def make_labels(self, inputs: Tensors) -> Tensors:
        return {"bool_masked_pos": self.masked(inputs)}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        masked = self.masked(inputs)
        return [{"bool_masked_pos": values} for values in (masked[:, 1:], masked[:1], masked.view(-1, 3, 3))]

    def nothing_counts(self, labels: Tensors) -> Tensors:
        return {name: torch.zeros_like(values) for name, values in labels.items()}

    def losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensor:
        distances = (model(**inputs, **labels).reconstruction - inputs["pixel_values"]).abs().double()
        return F.unfold(distances, 4, stride=4).mean(1)[labels["bool_masked_pos"].bool()]


class TestLectureViTForMaskedPatchPrediction(MaskedImageTests):
    model_class = LectureViTForMaskedPatchPrediction
    auto_class = AutoModelForPreTraining

    def config(self) -> LectureViTConfig:
        return small(num_channels=1)

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        """transformers' model for pixels up to the last states, and one product."""
        return {"logits": F.linear(states_of_peer(model, **inputs), model.color_head.weight, model.color_head.bias)}

    def make_labels(self, inputs: Tensors) -> Tensors:
        masked = self.masked(inputs)
        labels = torch.arange(masked.numel()).view(masked.shape) % 8
        return {"labels": labels.masked_fill(~masked, -100), "bool_masked_pos": masked}

    def bad_labels(self, inputs: Tensors) -> list[Tensors]:
        labels = self.make_labels(inputs)["labels"]
        return [{"labels": values} for values in (labels[:, 1:], labels.float(), labels + 9)]

    def nothing_counts(self, labels: Tensors) -> Tensors:
        return labels | {"labels": torch.full_like(labels["labels"], -100)}

    def losses(self, model: PreTrainedModel, inputs: Tensors, labels: Tensors) -> Tensor:
        return cross_entropies(model(**inputs, **labels).logits, labels["labels"])


def states_of_peer(model: Any, **inputs: Any) -> Tensor:
    weights = {name.removeprefix("vit."): tensor for name, tensor in official_weights(model).items()}
    shape = {name: getattr(model.config, name) for name in (*SHAPE, "num_channels")}
    theirs = ViTModel(ViTConfig(**shape), add_pooling_layer=False, use_mask_token=True).eval()
    given = {name: tensor for name, tensor in weights.items() if not name.startswith("color_head")}
    return functional_call(theirs, given, kwargs=inputs).last_hidden_state[:, 1:]


# Beside transformers' own, with everything that it is given


def build(model_class: type, **changes: Any) -> Any:
    model = model_class(small(**changes))
    perturb(model, 0.5)
    return model.eval()


def given(how: str, model_class: type) -> Tensors:
    images = torch.randn(3, 3, 12, 12)
    if model_class is LectureViTForMaskedImageModeling:
        return {"pixel_values": images, "bool_masked_pos": torch.rand(3, 9) < 0.5}
    if how == "larger":
        return {"pixel_values": torch.randn(3, 3, 24, 8), "interpolate_pos_encoding": True}  # type: ignore[dict-item]
    labels = {"labels": torch.tensor([2, 0, 1])} if model_class is LectureViTForImageClassification else {}
    return {"pixel_values": images, **labels}


@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
@pytest.mark.parametrize("how", ["plain", "larger"])
@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
def test_outputs_losses_and_gradients_are_theirs(model_class: type, how: str, implementation: str) -> None:
    model = build(model_class)
    model.set_attn_implementation(implementation)
    inputs = given(how, model_class)
    with uncompiled_flex_attention():
        assert_same_dependence(model, tensors(model(**inputs)), tensors(reference(model, inputs)))


@pytest.mark.parametrize("model_class", PEERS, ids=lambda cls: cls.__name__)
def test_states_and_attentions_are_theirs(model_class: type) -> None:
    """The last state is that of the last block, before the norm, as theirs."""
    model = build(model_class)
    inputs = given("plain", model_class)
    asked = {"output_hidden_states": True, "output_attentions": True}
    found = model(**inputs, **asked)
    eager = peer(model)
    eager.set_attn_implementation("eager")
    expected = functional_call(eager, official_weights(model), kwargs={**inputs, **asked})
    for name in ("hidden_states", "attentions"):
        assert len(found[name]) == len(expected[name])
        for our, their in zip(found[name], expected[name], strict=True):
            assert_close(our, their, rtol=0, atol=1e-5)


def test_masked_patches_are_not_seen() -> None:
    """But through their loss; another patch at the place of one is that patch's vector."""
    model = build(LectureViTForMaskedPatchPrediction)
    images, masked = torch.randn(1, 3, 12, 12), torch.tensor([[False] * 4 + [True] + [False] * 4])
    other = images.clone()
    other[..., 4:8, 4:8] = 7.0
    assert_close(model(images, bool_masked_pos=masked).logits, model(other, bool_masked_pos=masked).logits)
    assert not torch.allclose(model(images).logits, model(other).logits)
    with pytest.raises(ValueError, match=r"bool_masked_pos: .* use_mask_token=True"):
        build(LectureViTModel)(images, bool_masked_pos=masked)


@torch.no_grad()
def test_a_classifier_computes_the_class_state_alone() -> None:
    """Of its last block; shown states are all there, and the answer is the same."""
    model = build(LectureViTForImageClassification)
    images = torch.randn(2, 3, 12, 12)
    shapes: list[torch.Size] = []
    hook = model.model.layers[-1].register_forward_hook(lambda module, args, output: shapes.append(output.shape))
    alone = model(images).logits
    for options in ({"output_hidden_states": True}, {"output_attentions": True}, {"num_states": 10}):
        assert_close(model(images, **options).logits, alone, rtol=0, atol=1e-5)
    assert [shape[1] for shape in shapes] == [1, 10, 10, 10]
    hook.remove()
    all_states = model.model(images).last_hidden_state
    assert_close(model.model(images, num_states=3).last_hidden_state, all_states[:, :3], rtol=0, atol=1e-5)


def test_an_untrained_classifier_finds_all_classes_equally_probable() -> None:
    assert (LectureViTForImageClassification(small())(torch.randn(2, 3, 12, 12)).logits == 0).all()


# Patches


def test_positions_keep_their_order_when_they_are_interpolated() -> None:
    """Numbers that grow along rows and columns still do; those that are all equal stay so."""
    line = torch.arange(8.0)
    twice = interpolate_positions((10 * line[:, None] + line).view(1, 64, 1), 16, 12).view(16, 12)
    assert (twice.diff(dim=0) > 0).all()
    assert (twice.diff(dim=1) > 0).all()
    assert_close(interpolate_positions(torch.ones(1, 4, 3), 5, 1), torch.ones(1, 5, 3))


def test_mean_colors_are_those_of_the_pixels() -> None:
    pixels = torch.randint(256, (2, 3, 8, 12), dtype=torch.uint8)
    colors = mean_colors(pixels, 4)
    for image, row in enumerate(colors.view(2, 2, 3)):
        for y, line in enumerate(row):
            for x, color in enumerate(line):
                patch = pixels[image, :, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4].double()
                red, green, blue = (int(mean / 32) for mean in patch.mean((1, 2)))
                assert color == 64 * red + 8 * green + blue
    assert mean_colors(torch.full((1, 1, 4, 4), 255, dtype=torch.uint8), 4).tolist() == [[7]]


# The image processor of one channel


def test_grey_images_of_every_kind() -> None:
    """What Pillow makes of a color image, of an array too; channels first or last."""
    np = pytest.importorskip("numpy")
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    processor = GrayscaleImageProcessor(size={"height": 6, "width": 5}, do_normalize=False, do_rescale=False)
    color = image_module.fromarray(pixels)
    expected = torch.tensor(np.array(color.convert("L")))[None]
    kinds = [color, color.convert("RGBA"), color.convert("L"), pixels, np.moveaxis(pixels, 2, 0)]
    grey = np.array(color.convert("L"))
    for kind in [*kinds, grey, grey[None], grey[..., None], torch.from_numpy(pixels), torch.from_numpy(grey), [grey]]:
        found = processor(kind, return_tensors="pt").pixel_values[0]
        assert (found.short() - expected.short()).abs().max() <= 1
    with pytest.raises(ValueError, match="is an array of shape .* cannot be an image: .* an axis of 1 or 3 channels"):
        processor(np.zeros((4, 6, 5), dtype=np.uint8))
    assert processor([grey, pixels], return_tensors="pt").pixel_values.shape == (2, 1, 6, 5)
    wide = np.moveaxis(pixels[:5, :, :].astype(np.float32) * 9, 2, 0)  # numbers that need no rescaling, of any size
    plain = GrayscaleImageProcessor(do_resize=False, do_normalize=False, do_rescale=False)
    found = plain(wide, return_tensors="pt").pixel_values[0, 0]
    torch.testing.assert_close(
        found, torch.tensor(np.array([299, 587, 114]) @ wide.reshape(3, -1) / 1000).view(5, 5).float()
    )
    assert torch.equal(plain(wide[0], return_tensors="pt").pixel_values[0, 0], torch.tensor(wide[0]))
