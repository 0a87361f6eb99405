# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pictures of the architectures without attention blocks."""

from docs._site.pictures.drawing import Block, Box, Column, Data, Link, Row, Step
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
    WORD,
    Architecture,
)

CLASSES = Data("Logits of the text's class", "logits", starts=False)

WORDS = {
    "ngram": Architecture(
        title="n-gram language model (order 3)",
        model="NGramForCausalLM",
        config={"vocab_size": VOCAB, "order": 3, "table_sizes": [VOCAB, 23, 29]},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, "bigrams": 23, "trigrams": 29},
        items=(
            IDS,
            Step("h: the two words before w"),
            Box(
                "trie.keys_3",
                "Trigrams that were counted",
                "P(w | h) = p*(hw) if hw is stored",
                also=("trie.log10_probs_3",),
            ),
            Step("else bow(h) P(w | h')", from_file=True),
            Box(
                "trie.keys_2",
                "Bigrams, with h' in the place of h",
                "p*(hw)",
                also=("trie.log10_probs_2", "trie.log10_backoffs_2"),
            ),
            Step("else bow(h) P(w | h')", from_file=True),
            Box("trie.log10_probs_1", "Single words", "p*(hw)", also=("trie.log10_backoffs_1",)),
            Data("The next word's log-probabilities", "logits", starts=False),
        ),
    ),
    "bag_of_words": Architecture(
        title="Bag of words, one hidden layer",
        model="BagOfWordsForSequenceClassification",
        config={"vocab_size": VOCAB, "hidden_sizes": [HIDDEN], "num_labels": 3},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, "hidden": HIDDEN, "classes": 3},
        items=(
            IDS,
            Box("model.embed_tokens", "A row of weights for each word", "a τ(w_l)"),
            Step("The sum over the words, in no order: Σ_l τ(w_l)"),
            Box("model.bias", "Bias", "h_1 = b_1 + a · Σ_l τ(w_l)"),
            Box("model.hidden_layers", "Activation", "σ(h_K)"),
            Box("classifier", "Classifier", "f(X) = b + A σ(h_K)"),
            CLASSES,
            SOFTMAX,
        ),
    ),
    "padded_mlp": Architecture(
        title="Padded multi-layer perceptron",
        model="PaddedMlpForSequenceClassification",
        config={
            "vocab_size": VOCAB,
            "embedding_size": WORD,
            "max_position_embeddings": 9,
            "hidden_sizes": [HIDDEN],
            "num_labels": 3,
        },
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, "n": WORD, "M·n": 9 * WORD, "hidden": HIDDEN, "classes": 3},
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors", "u_l"),
            Step("filled up with zeros to M words: X̂ = (u_1, ..., u_L, 0, ..., 0)"),
            Box("model.layers.0", "Layer that reads all words at once", "h_1 = A_1 X̂ + b_1"),
            Box("model.layers.1", "Activation", "σ(h_K)"),
            Box("classifier", "Classifier", "f(X) = A σ(h_K) + b"),
            CLASSES,
            SOFTMAX,
        ),
    ),
    "feed_forward": Architecture(
        title="Feed-forward language model (order 4)",
        model="FeedForwardForCausalLM",
        config={"vocab_size": VOCAB, "order": 4, "embedding_size": WORD, "hidden_size": HIDDEN, "bos_token_id": 0},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, "m": WORD, "3·m": 3 * WORD, "hidden": HIDDEN},
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors", "C(w)"),
            Step("x = [C(w_{t-1}); C(w_{t-2}); ...; C(w_{t-n+1})]", from_file=True),
            Box("model.hidden_layer", "Hidden layer", "d + H x"),
            Step("tanh"),
            Box("lm_head", "Output layer", "U tanh(d + H x)"),
            LOGITS,
            SOFTMAX,
        ),
    ),
    "recurrent": Architecture(
        title="Recurrent language model (LSTM)",
        model="RecurrentForCausalLM",
        config={"vocab_size": VOCAB, "hidden_size": HIDDEN},
        inputs={"input_ids": ("batch", "seq")},
        axes={**TEXT, "hidden": HIDDEN, "4·hidden": 4 * HIDDEN},
        items=(
            IDS,
            Box("model.embed_tokens", "Word vectors", "h_l^0 = u_l"),
            Block(
                (
                    Box(
                        "model.layers.0.rnn",
                        "LSTM, token after token",
                        "f, i, g, o = W [h; u] + b\nc = σ(f) ⊙ c + σ(i) ⊙ tanh(g)\nh = σ(o) ⊙ tanh(c)",
                        loop="h, c",
                    ),
                ),
                path="model.layers.0",
                title="Layer",
                times="num_hidden_layers of them in a stack",
            ),
            Box("lm_head", "Output layer", "W_o h_l^K + b_o"),
            LOGITS,
            SOFTMAX,
        ),
    ),
    "word2vec": Architecture(
        title="word2vec (skip-gram)",
        model="Word2VecForPreTraining",
        config={"vocab_size": VOCAB, "hidden_size": HIDDEN, "window_size": 1},
        inputs={"input_ids": ("batch", "seq"), "labels": ("batch", "seq")},
        axes={**TEXT, "hidden": HIDDEN, "pairs": 2 * BATCH * (SEQ - 1)},
        items=(
            IDS,
            Box("model.embed_tokens", "Input vectors", "h = u_{w_t}"),
            Step("pairs of a word and one in its window, 0 < |s - t| ≤ b_t"),
            Box("output", "Output vectors v, and noise words", "-ln σ(h · v_w) - Σ_{i=1}^k ln σ(-h · v_{n_i})"),
            Step("mean over the pairs"),
            Data("The loss", "loss", starts=False),
        ),
    ),
    "elmo": Architecture(
        title="ELMo, in pre-training",
        model="ElmoForPreTraining",
        config={
            "char_filters": [[3, 13]],
            "char_embedding_size": 6,
            "hidden_size": HIDDEN,
            "projection_size": 10,
            "num_words": VOCAB,
            "num_highway_layers": 2,
        },
        inputs={"input_ids": ("batch", "seq", "characters")},
        axes={
            **TEXT,
            "characters": 50,
            "letters": 262,
            "letter_vector": 6,
            "width": 3,
            "filters": 13,
            "p": 10,
            "2·p": 20,
            "hidden": HIDDEN,
            "4·hidden": 4 * HIDDEN,
        },
        items=(
            Data("Ids of each word's characters", "input_ids"),
            Box("model.characters", "Convolutions over the characters", "cnn(characters of l)"),
            Box("model.highways.0", "Highway layers, num_highway_layers of them"),
            Box("model.projection", "Projection to p = projection_size", "h_{0,l}"),
            Block(
                (
                    Row(
                        (
                            Box(
                                "model.layers.0.forwards",
                                "Left to right",
                                "h→_{k,l} = LSTM_k(h→_{k,l-1}, h→_{k-1,l})",
                            ),
                            Box(
                                "model.layers.0.backwards",
                                "Right to left",
                                "h←_{k,l} = LSTM'_k(h←_{k,l+1}, h←_{k-1,l})",
                            ),
                        )
                    ),
                ),
                path="model.layers.0",
                title="A layer of both directions",
                times="num_hidden_layers of them; k > 1 add their input",
            ),
            Box("lm_head", "One softmax for both directions", "V h→_{K,l-1} + v"),
            Row(
                (
                    Column((Data("The next word", "forward_logits", starts=False), SOFTMAX)),
                    Column((Data("The word before", "backward_logits", starts=False), SOFTMAX)),
                ),
                joined=False,
            ),
        ),
    ),
    "recurrent_seq2seq": Architecture(
        title="Recurrent encoder-decoder with attention",
        model="RecurrentSeq2SeqForConditionalGeneration",
        config={
            "vocab_size": 97,
            "decoder_vocab_size": VOCAB,
            "hidden_size": HIDDEN,
            "embedding_size": WORD,
            "cell_type": "gru",
            "attention_type": "additive",
            "bidirectional_encoder": True,
            "num_hidden_layers": 1,
            **STARTS,
        },
        inputs={"input_ids": ("batch", "source"), "decoder_input_ids": ("batch", "target")},
        axes={
            "batch": BATCH,
            "source": SOURCE,
            "target": SEQ,
            "source_vocab": 97,
            "target_vocab": VOCAB,
            "e": WORD,
            "hidden": HIDDEN,
            "2·hidden": 2 * HIDDEN,
            "3·hidden": 3 * HIDDEN,
            "e+2·hidden": WORD + 2 * HIDDEN,
            "e+3·hidden": WORD + 3 * HIDDEN,
            "1": 1,
        },
        items=(
            Data("Ids of the source's tokens", "input_ids"),
            Block(
                (
                    Box("model.encoder.embed_tokens", "Word vectors of the source", "x_1 ... x_J"),
                    Row(
                        (
                            Box("model.encoder.layers.0.forwards", "GRU, left to right", "h→_j"),
                            Box("model.encoder.layers.0.backwards", "GRU, right to left", "h←_j"),
                        )
                    ),
                    Step("h_j = [h→_j; h←_j]", from_file=True),
                ),
                path="model.encoder",
                title="Encoder",
            ),
            Block(
                (
                    Row(
                        (
                            Column(
                                (
                                    Box("model.decoder.U_a", "Keys", "U_a h_j"),
                                    Box(
                                        "model.decoder.layers.0.score",
                                        "Scores",
                                        "e_ij = v_a · tanh(W_a s_{i-1} + U_a h_j)",
                                    ),
                                    Step("α_i = softmax(e_i), c_i = Σ_j α_ij h_j", from_file=True),
                                )
                            ),
                            Column(
                                (
                                    Box("model.decoder.W_s.0", "First state", "s_0 = tanh(W_s [h→_J; h←_1])"),
                                    Data("Ids of the target so far", "decoder_input_ids"),
                                    Box("model.decoder.embed_tokens", "Word vectors", "y_{i-1}"),
                                )
                            ),
                        )
                    ),
                    Box("model.decoder.layers.0.recurrence", "GRU", "s_i = q(s_{i-1}, [y_{i-1}; c_i])", loop="s_i"),
                    Box("model.decoder.O", "Maxout", "t_i = maxout(O [s_i; y_{i-1}; c_i])"),
                ),
                path="model.decoder",
                title="Decoder, token after token",
            ),
            Box("lm_head", "Output layer", "W_o t_i + b_o"),
            LOGITS,
            SOFTMAX,
        ),
    ),
    "graves": Architecture(
        title="Graves' network",
        model="GravesForSequencePrediction",
        config={"hidden_size": HIDDEN, "num_hidden_layers": 3},
        inputs={"points": ("batch", "seq", "numbers")},
        axes={
            "batch": BATCH,
            "seq": SEQ,
            "numbers": 3,
            "hidden": HIDDEN,
            "3·hidden": 3 * HIDDEN,
            "4·hidden": 4 * HIDDEN,
            "numbers+hidden": 3 + HIDDEN,
            "outputs": 61,
        },
        items=(
            Data("The points before: dx, dy, pen", "points"),
            Box("layers.0", "LSTM 1", "h^1_t = LSTM(x_{t-1}, h^1_{t-1})", loop="h, c"),
            Box("layers.1", "LSTM 2", "h^n_t = LSTM([x_{t-1}; h^{n-1}_t], h^n_{t-1})", loop="h, c"),
            Box("layers.2", "LSTM 3", "h^n_t = LSTM([x_{t-1}; h^{n-1}_t], h^n_{t-1})", loop="h, c"),
            Box("output", "Output layer", "ŷ_t = b + Σ_n W_n h^n_t"),
            Data("The parameters of a density of the next point", "logits", starts=False),
            Step("e = σ(-ê), π = softmax(π̂), μ = μ̂, σ = exp(σ̂), ρ = tanh(ρ̂)", from_file=True),
            Step("p(x) = Σ_k π_k N(x | μ_k, σ_k, ρ_k)", from_file=True),
        ),
        links=(
            Link("points", "layers.1"),
            Link("points", "layers.2"),
            Link("layers.0", "output", "right", 1),
            Link("layers.1", "output", "right", 0),
        ),
    ),
}
