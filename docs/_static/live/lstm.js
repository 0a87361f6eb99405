"use strict";
// A language model with an LSTM of one or more layers (slides R:501-553, Y:407-462). With u the vector of the word, or
// the h of the layer below, and h, c of the word before:
//
//   i, f, g, o = W u + b + V h + d                   (R:533; two biases, as torch stores them)
//   c = σ(f) ⊙ c + σ(i) ⊙ tanh(g)                    the memory: kept where f is open, written where i is
//   h = σ(o) ⊙ tanh(c)
//   P(w | all words before) = softmax(W_o h + b_o)_w   with h of the last layer

/** An LSTM, from the tensors that `save_pretrained` writes. */
class LSTM {
  /** The values of the configuration that this file computes. */
  static settings = {
    cell_type: ["lstm"], output_layer: ["softmax", "noise_contrastive"], bidirectional: [false],
    projection_size: [null], output_projection_size: [null], pooling: ["last"], pair_combination: [null],
  };

  constructor(tensors, config) {
    requireSettings(config, LSTM.settings);
    const data = (name) => tensors[name].data;
    this.size = config.hidden_size;
    this.longest = Infinity;
    this.embeddings = data("model.embed_tokens.weight");
    this.width = tensors["model.embed_tokens.weight"].shape[1];
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, k) => {
      const of = (name) => data(`model.layers.${k}.rnn.${name}_l0`);
      return { W: of("weight_ih"), b: of("bias_ih"), V: of("weight_hh"), d: of("bias_hh") };
    });
    this.output = tensors["lm_head.weight"]?.data ?? this.embeddings;      // tied: the word vectors once more
    this.bias = data("lm_head.bias");
  }

  /** The state before the first word: {h, c} of each layer. */
  start() { return this.layers.map(() => ({ h: new Float64Array(this.size), c: new Float64Array(this.size) })); }

  /** The state after a further word. */
  next(state, word) {
    let u = this.embeddings.subarray(word * this.width, (word + 1) * this.width);
    return this.layers.map((layer, k) => {
      const after = this.cell(layer, u, state[k]);
      u = after.h;
      return after;
    });
  }

  /** {h, c} of one layer after its input u. */
  cell({ W, b, V, d }, u, before) {
    const n = this.size;
    const sigma = (x) => 1 / (1 + Math.exp(-x));
    const fromBelow = linear(W, u, b);
    const fromBefore = linear(V, before.h, d);
    const gate = (number, j) => fromBelow[number * n + j] + fromBefore[number * n + j];     // 0: i, 1: f, 2: g, 3: o
    const h = new Float64Array(n);
    const c = new Float64Array(n);
    for (let j = 0; j < n; j++) {
      c[j] = sigma(gate(1, j)) * before.c[j] + sigma(gate(0, j)) * Math.tanh(gate(2, j));
      h[j] = sigma(gate(3, j)) * Math.tanh(c[j]);
    }
    return { h, c };
  }

  /** ln P(w | all words before) of every word w. */
  logProbs(state) { return logSoftmax(linear(this.output, state.at(-1).h, this.bias)); }
}
