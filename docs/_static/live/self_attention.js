"use strict";
/** A causal Transformer, post-LN, ALiBi:  n = LN(h + Attention(h)),  h' = LN(n + FFN(n))  (slides R:772-934). */
class SelfAttention {
  constructor(tensors, config) {
    if (config.position_encoding !== "alibi" || config.norm_position !== "post" || config.layer_mix || config.hidden_act !== "gelu_new")
      throw new Error("another network than this file's");
    const heads = config.num_attention_heads;
    if (heads & (heads - 1)) throw new Error("ALiBi's slopes are here for 2, 4, 8, ... heads");
    this.heads = heads; this.width = config.hidden_size; this.eps = config.layer_norm_eps;
    this.slopes = Array.from({ length: heads }, (_, i) => 2 ** (-8 * (i + 1) / heads));
    this.embeddings = tensors["model.embed_tokens.weight"].data;
    this.output = tensors["lm_head.weight"]?.data ?? this.embeddings;
    this.bias = tensors["lm_head.bias"].data;
    this.layers = Array.from({ length: config.num_hidden_layers }, (_, k) =>
      (name) => [`weight`, `bias`].map((part) => tensors[`model.layers.${k}.${name}.${part}`].data));
  }
  start() { return { h: null, cache: this.layers.map(() => ({ keys: [], values: [] })), maps: null }; }

  layerNorm([gamma, beta], x) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const deviation = Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length + this.eps);
    return x.map((value, i) => gamma[i] * (value - mean) / deviation + beta[i]);
  }
  next(state, word) {
    const d = this.width, size = d / this.heads, apply = ([W, b], x) => linear(W, x, b);
    let h = Float64Array.from(this.embeddings.subarray(word * d, (word + 1) * d));
    const maps = [];
    const cache = this.layers.map((of, k) => {
      const qkv = apply(of("self_attn.qkv_proj"), h), q = qkv.subarray(0, d);
      const keys = [...state.cache[k].keys, qkv.slice(d, 2 * d)], values = [...state.cache[k].values, qkv.slice(2 * d)];
      const t = keys.length - 1, o = new Float64Array(d);
      maps.push(this.slopes.map((slope, head) => {
        const first = head * size;
        const scores = Float64Array.from(keys, (key, s) => {                       // q_t · k_s / √size - m (t - s)
          let dot = 0;
          for (let j = first; j < first + size; j++) dot += q[j] * key[j];
          return dot / Math.sqrt(size) - slope * (t - s);
        });
        const a = logSoftmax(scores).map(Math.exp);
        a.forEach((weight, s) => { for (let j = first; j < first + size; j++) o[j] += weight * values[s][j]; });   // o_t = Σ_s a_t[s] v_s
        return a;
      }));
      const attended = apply(of("self_attn.o_proj"), o);
      const n = this.layerNorm(of("attention_norm"), h.map((value, i) => value + attended[i]));
      const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
      const fed = apply(of("ffn.down_proj"), apply(of("ffn.up_proj"), n).map(gelu));
      h = this.layerNorm(of("ffn_norm"), n.map((value, i) => value + fed[i]));
      return { keys, values };
    });
    return { h, cache, maps };                                                      // maps[layer][head][s]: the weights of this position
  }
  logProbs(state) { return logSoftmax(linear(this.output, state.h, this.bias)); }
}
