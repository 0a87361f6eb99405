"use strict";
/**
 * An LSTM that learns by back-propagation through time (R:500-553):
 *   z = W u_t + V h_{t-1} + b in four parts:   i = σ(z_i),  f = σ(z_f),  g = tanh(z_g),  o = σ(z_o)
 *   c_t = f c_{t-1} + i g,   h_t = o tanh(c_t),   h_0 = c_0 = 0;   output and L as in the Elman network
 * backwards from the last word:
 *   ∂z_o = ∂h_t tanh(c_t) o (1 - o),   ∂c_t += ∂h_t o (1 - tanh²(c_t))
 *   ∂z_i = ∂c_t g i (1 - i),   ∂z_f = ∂c_t c_{t-1} f (1 - f),   ∂z_g = ∂c_t i (1 - g²)
 *   ∂c_{t-1} = f ∂c_t,   ∂h_{t-1} = Vᵀ ∂z                 the direct path along c multiplies by f  (R:500)
 */
class LstmLearner {
  /** A network with weights as ElmanLearner's; `forgetBias` is added to the forget gate's b: f starts nearer 1. */
  constructor(words, size, random, { scale = 1, forgetBias = 0 } = {}) {
    this.size = size;
    const uniform = (count, limit = 1) => uniformNumbers(count, limit / Math.sqrt(size), random);
    this.weights = {
      W: uniform(words * 4 * size),
      V: uniform(4 * size * size, scale),
      b: uniform(4 * size),
      O: uniform(words * size),
      e: new Float64Array(words),
    };
    for (let j = size; j < 2 * size; j++) this.weights.b[j] += forgetBias;
  }
  /** The states and the gates [i, f, g, o] of each word: {h, c, gates}, from h_0 and c_0 on; gates[0] is empty. */
  read(text) {
    const { W, V, b } = this.weights;
    const n = this.size;
    const h = [new Float64Array(n)];
    const c = [new Float64Array(n)];
    const gates = [[]];
    for (const word of text) {
      const before = h.at(-1);
      const z = new Float64Array(4 * n);
      for (let row = 0, at = 0; row < 4 * n; row++) {
        let sum = W[word * 4 * n + row] + b[row];
        for (let j = 0; j < n; j++) sum += V[at++] * before[j];
        z[row] = row >= 2 * n && row < 3 * n ? Math.tanh(sum) : 1 / (1 + Math.exp(-sum));
      }
      const cell = new Float64Array(n);
      const now = new Float64Array(n);
      for (let j = 0; j < n; j++) {
        cell[j] = z[n + j] * c.at(-1)[j] + z[j] * z[2 * n + j];
        now[j] = z[3 * n + j] * Math.tanh(cell[j]);
      }
      h.push(now);
      c.push(cell);
      gates.push(z);
    }
    return { h, c, gates };
  }
  /** ∂L/∂h_t and ∂L/∂c_t for t = 0 ... T: {h, c}; adds to `gradients` those of the weights. */
  goBack(text, { h, c, gates }, atEnd, gradients) {
    const { V } = this.weights;
    const n = this.size;
    const dh = h.map(() => new Float64Array(n));
    const dc = h.map(() => new Float64Array(n));
    dh[text.length] = atEnd;
    const dz = new Float64Array(4 * n);
    for (let t = text.length; t > 0; t--) {
      const z = gates[t];
      const word = text[t - 1];
      for (let j = 0; j < n; j++) {
        const i = z[j];
        const f = z[n + j];
        const g = z[2 * n + j];
        const o = z[3 * n + j];
        const tanh = Math.tanh(c[t][j]);
        dc[t][j] += dh[t][j] * o * (1 - tanh ** 2);
        dz[j] = dc[t][j] * g * i * (1 - i);
        dz[n + j] = dc[t][j] * c[t - 1][j] * f * (1 - f);
        dz[2 * n + j] = dc[t][j] * i * (1 - g ** 2);
        dz[3 * n + j] = dh[t][j] * tanh * o * (1 - o);
        dc[t - 1][j] = f * dc[t][j];
      }
      for (let row = 0; row < 4 * n; row++) {
        gradients.W[word * 4 * n + row] += dz[row];
        gradients.b[row] += dz[row];
      }
      backThroughMatrix(V, dz, h[t - 1], gradients.V, dh[t - 1]);
    }
    return { h: dh, c: dc };
  }
}
