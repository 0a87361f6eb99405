"use strict";
// A causal Transformer (slides R:772-934, Y:485-567). With word vectors w, d their width, and T words read so far:
//
//   h = w (alibi, relative, none), w + p_t (learned) or √d w + p_t (sinusoidal)                   (R:892-928)
//   post-norm:  n = LN(h + Attention(h)),  h' = LN(n + FFN(n))
//   pre-norm:   n = h + Attention(LN(h)),  h' = n + FFN(LN(n)),  and LN(h') at the end
//   Attention:  o_t = W [Σ_{s ≤ t} a_t[s] v_s of each head] + b
//               a_t = softmax_s(q_t · k_s / √size + bias(t - s))                                   (R:782-834)
//   FFN(n) = W_2 φ(W_1 n + b_1) + b_2                                                              (R:860-890)
//   P(w_{t+1} | w_1 ... w_t) = softmax(W_o h_t + b_o), or of a mix Σ_u θ_u h_t^u of all layers     (Y:563)

/** A causal Transformer, from the tensors that `save_pretrained` writes. */
class SelfAttention {
  /** The values of the configuration that this file computes. */
  static settings = {
    position_encoding: ["alibi", "sinusoidal", "learned", "relative", "none"], norm_position: ["post", "pre"],
    hidden_act: ["gelu_new", "relu", "silu", "swish"],
  };

  constructor(tensors, config) {
    requireSettings(config, SelfAttention.settings);
    const data = (name) => tensors[name]?.data;
    const pair = (name) => [data(`${name}.weight`), data(`${name}.bias`)];
    this.config = config;
    this.heads = config.num_attention_heads;
    this.width = config.hidden_size;
    this.longest = config.position_encoding === "learned" ? config.max_position_embeddings : Infinity;
    this.slopes = alibiSlopes(this.heads);
    this.positions = data("model.position_encoding.embed_positions.weight");
    this.distances = data("model.position_encoding.bias.weight");
    this.embeddings = data("model.embed_tokens.weight");
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, k) => {
      const of = (name) => pair(`model.layers.${k}.${name}`);
      return { qkv: of("self_attn.qkv_proj"), out: of("self_attn.o_proj"), norm1: of("attention_norm"),
        up: of("ffn.up_proj"), down: of("ffn.down_proj"), norm2: of("ffn_norm"),
        beta: data(`model.layers.${k}.ffn.activation.beta`)?.[0] };
    });
    this.finalNorm = config.norm_position === "pre" ? pair("model.final_norm") : null;
    this.theta = config.layer_mix ? data("model.layer_mix.theta") : null;
    this.output = data("lm_head.weight") ?? this.embeddings;               // tied: the word vectors once more
    this.bias = data("lm_head.bias");
  }

  /** The state before the first word. */
  start() { return { position: 0, cache: this.layers.map(() => ({ keys: [], values: [] })), hidden: [], maps: null }; }

  /**
   * The state after a further word: {position, cache, hidden, maps, inside}. `hidden` has the vectors before the
   * first block and after each; maps[layer][head][s] is the weight a of the word s; inside[layer] has {q, keys, values,
   * scores}, all heads side by side in the vectors, and scores[head][s]. A head is left out where off[layer][head]: o = 0.
   */
  next(state, word, off = []) {
    const hidden = [this.input(word, state.position)];
    const maps = [];
    const inside = [];
    const cache = this.layers.map((layer, k) => {
      const { h, map, keys, values, q, scores } = this.block(layer, hidden[k], state.cache[k], off[k]);
      inside.push({ q, keys, values, scores });
      hidden.push(h);
      maps.push(map);
      return { keys, values };
    });
    return { position: state.position + 1, cache, hidden, maps, inside };
  }

  /** The vector of a word at position t. */
  input(word, t) {
    const d = this.width;
    const w = Float64Array.from(this.embeddings.subarray(word * d, (word + 1) * d));
    const kind = this.config.position_encoding;
    if (kind === "learned") return w.map((value, i) => value + this.positions[t * d + i]);
    if (kind !== "sinusoidal") return w;
    const angle = (i) => t / 10000 ** ((i - (i % 2)) / d);
    return w.map((value, i) => Math.sqrt(d) * value + (i % 2 ? Math.cos(angle(i)) : Math.sin(angle(i))));
  }

  /** One block: {h, map, keys, values, q, scores}. */
  block(layer, h, past, off) {
    const add = (x, y) => x.map((value, i) => value + y[i]);
    const pre = this.config.norm_position === "pre";
    const { o, ...inside } = this.attention(layer, pre ? this.layerNorm(layer.norm1, h) : h, past, off);
    const n = pre ? add(h, o) : this.layerNorm(layer.norm1, add(h, o));
    const fed = this.feedForward(layer, pre ? this.layerNorm(layer.norm2, n) : n);
    return { h: pre ? add(n, fed) : this.layerNorm(layer.norm2, add(n, fed)), ...inside };
  }

  /** Attention to this word and all before: {o, map, keys, values, q, scores}; map[head][s] are the weights. */
  attention({ qkv: [W, b], out: [outW, outB] }, x, past, off = []) {
    const d = this.width;
    const size = d / this.heads;
    const all = linear(W, x, b);
    const q = all.subarray(0, d);
    const keys = [...past.keys, all.slice(d, 2 * d)];
    const values = [...past.values, all.slice(2 * d)];
    const t = keys.length - 1;
    const joined = new Float64Array(d);
    const map = [];
    const allScores = [];
    for (let head = 0; head < this.heads; head++) {
      const first = head * size;
      const scores = Float64Array.from(keys, (key, s) => {                       // q_t · k_s / √size + bias(t - s)
        let dot = 0;
        for (let j = first; j < first + size; j++) dot += q[j] * key[j];
        return dot / Math.sqrt(size) + this.distanceBias(head, t - s);
      });
      const a = logSoftmax(scores).map(Math.exp);
      map.push(a);
      allScores.push(scores);
      if (off[head]) continue;
      a.forEach((weight, s) => {                                                 // Σ_s a_t[s] v_s
        for (let j = first; j < first + size; j++) joined[j] += weight * values[s][j];
      });
    }
    return { o: linear(outW, joined, outB), map, keys, values, q, scores: allScores };
  }

  /** What is added to the score of a word `distance` before: a penalty (alibi), a trained number (relative), or 0. */
  distanceBias(head, distance) {
    const kind = this.config.position_encoding;
    if (kind === "alibi") return -Math.fround(this.slopes[head] * distance);
    if (kind !== "relative") return 0;
    const { relative_attention_num_buckets: buckets, relative_attention_max_distance: most } = this.config;
    return this.distances[causalBucket(distance, buckets, most) * this.heads + head];
  }

  /** FFN(n). */
  feedForward({ up: [W1, b1], down: [W2, b2], beta }, n) {
    const activations = {
      gelu_new: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
      relu: (x) => Math.max(0, x),
      silu: (x) => x / (1 + Math.exp(-x)),
      swish: (x) => x / (1 + Math.exp(-beta * x)),
    };
    return linear(W2, linear(W1, n, b1).map(activations[this.config.hidden_act]), b2);
  }

  /** LN(x) = γ ⊙ (x - mean) / √(variance + ε) + β. */
  layerNorm([gamma, beta], x) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const deviation = Math.sqrt(variance + this.config.layer_norm_eps);
    return x.map((value, i) => (gamma[i] * (value - mean)) / deviation + beta[i]);
  }

  /** The vector that predicts: of the last layer, or Σ_u θ_u h^u; after the last norm where there is one. */
  predicting({ hidden }) {
    const normed = (h) => (this.finalNorm ? this.layerNorm(this.finalNorm, h) : h);
    if (!this.theta) return normed(hidden.at(-1));
    const layers = hidden.map(normed);
    return layers[0].map((_, i) => layers.reduce((sum, layer, u) => sum + this.theta[u] * layer[i], 0));
  }

  /** ln P(w | all words before) of every word w. */
  logProbs(state) { return logSoftmax(linear(this.output, this.predicting(state), this.bias)); }
}

/** ALiBi's slopes: 2^(-8/m), 2^(-16/m), ..., with m the largest power of two in `heads`, then every other of 2m's. */
function alibiSlopes(heads) {
  const power = 2 ** Math.floor(Math.log2(heads));
  const own = Array.from({ length: power }, (_, i) => 2 ** ((-8 * (i + 1)) / power));
  const more = Array.from({ length: heads - power }, (_, i) => 2 ** ((-4 * (2 * i + 1)) / power));
  return [...own, ...more].map(Math.fround);                                     // the package has them in float32
}

/** T5's bucket of a distance: half of the buckets have one distance each, the others ranges that widen up to `most`. */
function causalBucket(distance, buckets, most) {
  const exact = Math.floor(buckets / 2);
  if (distance < exact) return distance;
  const f = Math.fround;                                                         // as the package, in float32
  const octaves = f(f(Math.log(f(distance / exact))) / f(Math.log(most / exact)));
  return Math.min(buckets - 1, exact + Math.floor(f(octaves * (buckets - exact))));
}
