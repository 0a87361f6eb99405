"use strict";
/** An LSTM of one or more layers:  i, f, g, o = W u + b + V h + d;  c = σ(f) c + σ(i) tanh(g);  h = σ(o) tanh(c)  (R:533). */
class LSTM {
  constructor(tensors, config) {
    if (config.model_type !== "lecture_recurrent" || config.cell_type !== "lstm" || config.bidirectional || config.projection_size
        || config.output_projection_size || config.output_layer !== "softmax") throw new Error("another network than this file's");
    const data = (name) => tensors[name].data;
    this.size = config.hidden_size;
    this.embeddings = data("model.embed_tokens.weight");
    this.width = tensors["model.embed_tokens.weight"].shape[1];
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, k) => {
      const p = `model.layers.${k}.rnn.`;
      return { W: data(p + "weight_ih_l0"), b: data(p + "bias_ih_l0"), V: data(p + "weight_hh_l0"), d: data(p + "bias_hh_l0") };
    });
    this.output = tensors["lm_head.weight"]?.data ?? this.embeddings;      // tied: the word vectors once more
    this.bias = data("lm_head.bias");
  }
  start() { return this.layers.map(() => ({ h: new Float64Array(this.size), c: new Float64Array(this.size) })); }

  next(state, word) {
    const sigma = (x) => 1 / (1 + Math.exp(-x)), n = this.size;
    let u = this.embeddings.subarray(word * this.width, (word + 1) * this.width);
    return this.layers.map(({ W, b, V, d }, k) => {
      const fromBelow = linear(W, u, b), fromBefore = linear(V, state[k].h, d);
      const gate = (number, j) => fromBelow[number * n + j] + fromBefore[number * n + j];
      const h = new Float64Array(n), c = new Float64Array(n);
      for (let j = 0; j < n; j++) {
        c[j] = sigma(gate(1, j)) * state[k].c[j] + sigma(gate(0, j)) * Math.tanh(gate(2, j));
        h[j] = sigma(gate(3, j)) * Math.tanh(c[j]);
      }
      u = h;
      return { h, c };
    });
  }
  /** ln P(w | h) = ln softmax(W_o h + b_o). */
  logProbs(state) { return logSoftmax(linear(this.output, state.at(-1).h, this.bias)); }
}
