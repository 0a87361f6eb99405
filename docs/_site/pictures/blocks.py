# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pictures of the architectures with attention blocks."""

from typing import Any

from docs._site.pictures.drawing import Block, Box, Column, Data, Item, Link, Plus, Row, Step, Sum
from docs._site.pictures.table import (
    BATCH,
    HIDDEN,
    IDS,
    LOGITS,
    SEQ,
    SOFTMAX,
    SOURCE,
    STARTS,
    TEXT,
    VOCAB,
    Architecture,
)

WIDE = {"hidden": HIDDEN, "3·hidden": 3 * HIDDEN, "4·hidden": 4 * HIDDEN}
SIZES = {"vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": 3}
IMAGE = {**SIZES, "image_size": 20, "patch_size": 4, "intermediate_size": 4 * HIDDEN}
PATCHES = {"colours": 3, "side": 20, "grid": 5, "patch": 4, "1+patches": 26}
TIMES = "num_hidden_layers of them in a stack"
FFN = "FFN(n) = W_2 GELU(W_1 n + b_1) + b_2"
HEADS = "a_t = softmax_s(q_t · k_s / √head_dim)"
OUT = "o_t = W_o [Σ_s a_t[s] v_s of each head] + b_o"


def feed_forward(block: str, formula: str = FFN) -> Box:
    """Return the box of a block's feed-forward network."""
    return Box(f"{block}.ffn", "Feed-forward network", formula)


def post_norm(block: str, equations: str, *parts: tuple[str, Item]) -> tuple[Item, ...]:
    """Return parts with a sum and then a norm after each; `equations` has one for each of them, in lines."""
    items: list[Item] = []
    for (norm, part), equation in zip(parts, equations.split("\n"), strict=True):
        items += [Sum((part,)), Box(f"{block}.{norm}", "Norm", equation)]
    return tuple(items)


def pre_norm(block: str, equations: str, *parts: tuple[str, Item]) -> tuple[Item, ...]:
    """Return parts with a norm before and a sum after each; `equations` has one for each of them, in lines."""
    items: list[Item] = []
    for (norm, part), equation in zip(parts, equations.split("\n"), strict=True):
        items.append(Sum((Box(f"{block}.{norm}", "Norm"), part), formula=equation))
    return tuple(items)


def block(
    make: Any, path: str, equations: str, attention: Item, ffn: Item, title: str = "Block", times: str = TIMES
) -> Block:
    """Return a block of self-attention and feed-forward network, `make` one of the two functions above."""
    items = make(path, equations, ("attention_norm", attention), ("ffn_norm", ffn))
    return Block(items, path=path, title=title, times=times)


FIRST = "model.layers.0"
MASKED = f"o_t = W_o [Σ_{{s ≤ t}} a_t[s] v_s of each head] + b_o\n{HEADS}"

TEXTS = {
    "self_attention": Architecture(
        title="Self-attention language model (pre-LN)",
        model="SelfAttentionForCausalLM",
        config=SIZES,
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, **WIDE},
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors", "w_t"),
            Box("model.position_encoding", "Positions", "√d w_t + p_t"),
            block(
                pre_norm,
                FIRST,
                "n = h + Attention(LN_1(h))\nh' = n + FFN(LN_2(n))",
                Box(
                    f"{FIRST}.self_attn",
                    "Masked self-attention",
                    "o_t = W [Σ_{s ≤ t} a_t[s] v_s of each head] + b\n"
                    "a_t = softmax_s(q_t · k_s / √head_dim + bias[t, s])",
                ),
                feed_forward(FIRST, "FFN(n) = W_2 φ(W_1 n + b_1) + b_2"),
            ),
            Box("model.final_norm", "Norm", "LN(I_u)"),
            Box("lm_head", "Output layer", "W_o I_K[t] + b_o"),
            LOGITS,
            SOFTMAX,
        ),
    ),
    "gpt1": Architecture(
        title="GPT-1",
        model="Gpt1ForCausalLM",
        config={**SIZES, "max_position_embeddings": 33},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, **WIDE, "longest": 33, "1": 1},
        items=(
            IDS,
            Row(
                (
                    Box("model.embed_tokens", "Word vectors", "W_e u_t"),
                    Box("model.embed_positions", "Positions", "W_p[t]"),
                )
            ),
            Plus(),
            block(
                post_norm,
                FIRST,
                "n = LN_1(h + Attention(h))\nh ← LN_2(n + FFN(n))",
                Box(f"{FIRST}.self_attn", "Masked self-attention", MASKED),
                feed_forward(FIRST),
            ),
            Box("lm_head", "Output layer", "W_e^T h_t"),
            LOGITS,
            SOFTMAX,
        ),
    ),
    "bert": Architecture(
        title="BERT, in pre-training",
        model="LectureBertForPreTraining",
        config={**SIZES, "intermediate_size": 4 * HIDDEN, "max_position_embeddings": 33},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, **WIDE, "longest": 33, "2": 2, "1": 1},
        items=(
            IDS,
            Row(
                (
                    Box("model.embed_tokens", "Words", "W_e u_t"),
                    Box("model.embed_types", "Texts", "W_s[s_t]"),
                    Box("model.embed_positions", "Positions", "W_p[t]"),
                )
            ),
            Plus(),
            Box("model.embedding_norm", "Norm", "h_t = LN(W_e u_t + W_s[s_t] + W_p[t])"),
            block(
                post_norm,
                FIRST,
                "n = LN_1(h + Attention(h))\nh ← LN_2(n + FFN(n))",
                Box(f"{FIRST}.self_attn", "Self-attention to all tokens", f"{OUT}\n{HEADS}"),
                feed_forward(FIRST),
            ),
            Row(
                (
                    Column(
                        (
                            Box("transform", "Predict masked words", "LN(GELU(W_m h_t + b_m))"),
                            Box("lm_head", "Output layer", "W_e^T"),
                            Data("Masked words", "prediction_logits", starts=False),
                            SOFTMAX,
                        )
                    ),
                    Column(
                        (
                            Step("h_1, of [CLS]"),
                            Box("model.pooler", "Pooler", "c = tanh(W_c h_1 + b_c)"),
                            Box("seq_relationship", "Next sentence", "W_n c + b_n"),
                            Data("Follows, or not", "seq_relationship_logits", starts=False),
                            SOFTMAX,
                        )
                    ),
                ),
                joined=False,
            ),
        ),
    ),
    "transformer_xl": Architecture(
        title="Transformer-XL",
        model="TransfoXLLMHeadModel",
        config={**SIZES, "mem_len": 5, "cutoffs": [40, 71], "div_val": 2},
        inputs={"input_ids": ("batch", "seq")},
        axes={
            **TEXT,
            **WIDE,
            "words_0": 40,
            "words_1": 31,
            "words_2": 30,
            "hidden/2": HIDDEN // 2,
            "hidden/4": HIDDEN // 4,
            "heads": 3,
            "head_dim": 8,
            "2": 2,
        },
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors, narrower for rarer words", "h^0_i = √d P_c E_c[w_i]"),
            Block(
                post_norm(
                    FIRST,
                    "n_i = LN(h^{n-1}_i + W_o Σ_j softmax_j(score[i, j]) v_j)\n"
                    "h^n_i = LN(n_i + W_2 ReLU(W_1 n_i + b_1) + b_2)",
                    (
                        "attention_norm",
                        Box(
                            f"{FIRST}.self_attn",
                            "Masked attention to the segment and its memory m",
                            "h~^{n-1} = [m^{n-1}; h^{n-1}]\n"
                            "score[i, j] = ((q_i + u) · k_j + (q_i + v) · r_{i-j}) / √head_dim",
                            loop="m",
                            also=("model.score_biases.0",),
                        ),
                    ),
                    ("ffn_norm", feed_forward(FIRST, "W_2 ReLU(W_1 n_i + b_1) + b_2")),
                ),
                path=FIRST,
                title="Block",
                times=TIMES,
            ),
            Box("lm_head", "Adaptive softmax", "P(w_{i+1} | all before) = adaptive softmax of h^N_i"),
            Data("The next token's log-probabilities", "logits", starts=False),
        ),
    ),
    "efficient_transformer": Architecture(
        title="Efficient Transformer (local attention)",
        model="EfficientTransformerForCausalLM",
        config=SIZES,
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, **WIDE},
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors", "w_t"),
            Box("model.position_encoding", "Positions", "I_0[t] = √d w_t + p_t"),
            block(
                pre_norm,
                FIRST,
                "n = h + Attention(LN_1(h))\nh' = n + FFN(LN_2(n))",
                Box(
                    f"{FIRST}.self_attn",
                    "Attention to a window and to the first tokens",
                    "o_t = Σ_{s in N(t)} a_s v_s\nN(t) = {|t - s| ≤ w} ∪ sentinels",
                ),
                feed_forward(FIRST, ""),
            ),
            Box("model.final_norm", "Norm", "LN(I_K[t])"),
            Box("lm_head", "Output layer", "W_o LN(I_K[t]) + b_o"),
            LOGITS,
            SOFTMAX,
        ),
    ),
}


def decoder_block(make: Any, path: str, equations: str, masked: str, cross: str, ffn: str) -> Block:
    """Return a block of masked attention, attention to the source and feed-forward network."""
    parts = (
        ("attention_norm", Box(f"{path}.self_attn", "Masked self-attention", masked)),
        ("cross_attention_norm", Box(f"{path}.cross_attn", "Attention to the encoder's states", cross)),
        ("ffn_norm", feed_forward(path, ffn)),
    )
    return Block(make(path, equations, *parts), path=path, title="Decoder block", times=TIMES)


ENCODER, DECODER = "model.encoder.layers.0", "model.decoder.layers.0"
SOURCES = {
    "transformer": Architecture(
        title="The Transformer",
        model="LectureTransformerForConditionalGeneration",
        config={**SIZES, **STARTS, "intermediate_size": 4 * HIDDEN},
        inputs={"input_ids": ("batch", "source"), "decoder_input_ids": ("batch", "target")},
        axes={
            "batch": BATCH,
            "source": SOURCE,
            "target": SEQ,
            "vocab": VOCAB,
            **WIDE,
            "2·hidden": 2 * HIDDEN,
        },
        items=(
            Data("Ids of the source's tokens", "input_ids"),
            Box("model.encoder.embed_tokens", "Word vectors of source and target", "√d w_{x_s}"),
            Box("model.encoder.position_encoding", "Positions", "e_s = √d w_{x_s} + p_s"),
            block(
                post_norm,
                ENCODER,
                "n = LN_1(e + Attention(e))\ne ← LN_2(n + FFN(n))",
                Box(f"{ENCODER}.self_attn", "Self-attention to all tokens", f"{OUT}\n{HEADS}"),
                feed_forward(ENCODER, "FFN(n) = W_2 φ(W_1 n + b_1) + b_2"),
                title="Encoder block",
            ),
            Data("Ids of the target's tokens so far", "decoder_input_ids"),
            Box("model.decoder.embed_tokens", "The same word vectors", "√d w_{y_t}"),
            Box("model.decoder.position_encoding", "Positions", "h_t = √d w_{y_t} + p_t"),
            decoder_block(
                post_norm,
                DECODER,
                "n = LN_1(h + Masked(h))\nc = LN_2(n + Cross(n, e))\nh ← LN_3(c + FFN(c))",
                "Masked: s ≤ t of the target",
                "Cross: q_t of the target, k_s and v_s of the source",
                "FFN(n) = W_2 φ(W_1 n + b_1) + b_2",
            ),
            Box("lm_head", "Output layer", "W h_t + b"),
            LOGITS,
            SOFTMAX,
        ),
        links=(Link(ENCODER, f"{DECODER}.cross_attn"),),
    ),
    "vit": Architecture(
        title="Vision Transformer",
        model="LectureViTForImageClassification",
        config={key: value for key, value in IMAGE.items() if key != "vocab_size"} | {"num_labels": 7},
        inputs={"pixel_values": ("batch", "colours", "side", "side")},
        axes={"batch": BATCH, **WIDE, **PATCHES, "classes": 7, "1": 1},
        items=(
            Data("Pixels of images", "pixel_values"),
            Box("model.embeddings.embed_patches", "A vector for each patch", "E x_1; ...; E x_N"),
            Box(
                "model.embeddings.cls_token",
                "[CLS] in front, and positions",
                "h = [x_class; E x_1; ...; E x_N] + E_pos",
                also=("model.embeddings.position_embeddings",),
            ),
            block(
                pre_norm,
                FIRST,
                "h' = h + Attention(LN_1(h))\nh ← h' + FFN(LN_2(h'))",
                Box(f"{FIRST}.self_attn", "Self-attention to all patches", f"{OUT}\n{HEADS}"),
                feed_forward(FIRST),
            ),
            Box("model.norm", "Norm", "y = LN(h)"),
            Step("y_0, the state of [CLS]"),
            Box("classifier", "Classifier", "W y_0 + b"),
            Data("Logits of the image's class", "logits", starts=False),
            SOFTMAX,
        ),
        options={"output_hidden_states": True},
    ),
    "image_captioning": Architecture(
        title="Image captioning",
        model="ImageCaptioningForConditionalGeneration",
        config={**IMAGE, **STARTS, "max_position_embeddings": 33},
        inputs={"pixel_values": ("batch", "colours", "side", "side"), "decoder_input_ids": ("batch", "target")},
        axes={
            "batch": BATCH,
            "target": SEQ,
            "vocab": VOCAB,
            **WIDE,
            **PATCHES,
            "2·hidden": 2 * HIDDEN,
            "longest": 33,
            "1": 1,
        },
        items=(
            Data("Pixels of images", "pixel_values"),
            Box("model.encoder.embeddings.embed_patches", "A vector for each patch", "E x_1; ...; E x_N"),
            Box(
                "model.encoder.embeddings.cls_token",
                "[CLS] in front, and positions",
                "e = [x_class; E x_1; ...; E x_N] + E_pos",
                also=("model.encoder.embeddings.position_embeddings",),
            ),
            block(
                pre_norm,
                ENCODER,
                "e' = e + Attention(LN_1(e))\ne ← e' + FFN(LN_2(e'))",
                Box(f"{ENCODER}.self_attn", "Self-attention to all patches", f"{OUT}\n{HEADS}"),
                feed_forward(ENCODER),
                title="Encoder block",
            ),
            Box("model.encoder.norm", "Norm", "e ← LN(e)"),
            Data("Ids of the caption's tokens so far", "decoder_input_ids"),
            Box("model.decoder.embed_tokens", "Word vectors", "w_{y_t}"),
            Box("model.decoder.position_encoding", "Positions", "h_t = w_{y_t} + p_t"),
            decoder_block(
                pre_norm,
                DECODER,
                "n = h + Masked(LN_1(h))\nc = n + Cross(LN_2(n), e)\nh ← c + FFN(LN_3(c))",
                "Masked: s ≤ t of the caption",
                "q_t = W_q LN_2(n_t) + b_q\nk_s = W_k e_s + b_k and v_s = W_v e_s + b_v",
                FFN,
            ),
            Box("model.decoder.norm", "Norm", "LN(h_t)"),
            Box("lm_head", "Output layer", "W LN(h_t)"),
            LOGITS,
            SOFTMAX,
        ),
        links=(Link("model.encoder.norm", f"{DECODER}.cross_attn"),),
    ),
}
