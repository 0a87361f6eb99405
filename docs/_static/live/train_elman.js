"use strict";
/**
 * An Elman network that learns by back-propagation through time (R:354-434):
 *   h_t = tanh(W u_t + V h_{t-1} + b),  h_0 = 0         u_t is 1 at the word's place, else 0: W u_t is a row
 *   o = O h_T + e,   L = -ln softmax(o)[answer]
 * backwards from the last word, with ∂z_t for ∂L/∂z_t, where h_t = tanh(z_t):
 *   ∂o = softmax(o) - (1 at the answer),   ∂h_T = Oᵀ ∂o
 *   ∂z_t = (1 - h_t²) ∂h_t,   ∂h_{t-1} = Vᵀ ∂z_t        so each step multiplies by Vᵀ diag(1 - h_t²)  (R:467-477)
 *   ∂V = Σ_t ∂z_t h_{t-1}ᵀ,   ∂W[u_t] += ∂z_t,   ∂b = Σ_t ∂z_t,   ∂O = ∂o h_Tᵀ,   ∂e = ∂o
 */
class ElmanLearner {
  /** A network with weights uniform within 1/√size, those of V within scale/√size; `random` is as randomNumbers(). */
  constructor(words, size, random, { scale = 1 } = {}) {
    this.size = size;
    const uniform = (count, limit = 1) => uniformNumbers(count, limit / Math.sqrt(size), random);
    this.weights = {
      W: uniform(words * size),
      V: uniform(size * size, scale),
      b: uniform(size),
      O: uniform(words * size),
      e: new Float64Array(words),
    };
  }
  /** The states h_0, ..., h_T after each word of a text: {h}. */
  read(text) {
    const { W, V, b } = this.weights;
    const n = this.size;
    const h = [new Float64Array(n)];
    for (const word of text) {
      const before = h.at(-1);
      const now = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let z = W[word * n + i] + b[i];
        for (let j = 0, at = i * n; j < n; j++) z += V[at + j] * before[j];
        now[i] = Math.tanh(z);
      }
      h.push(now);
    }
    return { h };
  }
  /** ∂L/∂h_t for t = 0 ... T: {h}; adds to `gradients` those of the weights. */
  goBack(text, { h }, atEnd, gradients) {
    const { V } = this.weights;
    const n = this.size;
    const back = h.map(() => new Float64Array(n));
    back[text.length] = atEnd;
    const dz = new Float64Array(n);
    for (let t = text.length; t > 0; t--) {
      const word = text[t - 1];
      for (let i = 0; i < n; i++) {
        dz[i] = (1 - h[t][i] ** 2) * back[t][i];
        gradients.W[word * n + i] += dz[i];
        gradients.b[i] += dz[i];
      }
      backThroughMatrix(V, dz, h[t - 1], gradients.V, back[t - 1]);
    }
    return { h: back };
  }
}
