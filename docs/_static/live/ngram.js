"use strict";
// An n-gram model (slides Y:88-225). With h the n-1 words before w, and h' = h without its first word:
//
//   P(w_1 ... w_L) = prod_i P(w_i | w_{i-n+1} ... w_{i-1})                          (equation 2)
//   P(w | h) = p*(hw) if hw is stored, else bow(h) P(w | h')                         (Katz 1987)
//
// All smoothings whose probabilities sum to one are stored in this form; bow(h) is 1 where h is not stored.

/** An n-gram model of any order, from the tables that `save_pretrained` writes. */
class NGram {
  /** The values of the configuration that this file computes. */
  static settings = {
    smoothing: ["maximum_likelihood", "add_alpha", "jelinek_mercer", "witten_bell", "witten_bell_backoff",
      "absolute_discounting", "kneser_ney", "modified_kneser_ney", "pitman_yor", "good_turing", "katz", null],
    num_classes: [null], quantisation_bits: [null], hashed: [false], components: [null], mixture_weights: [null],
  };

  constructor(tensors, config) {
    requireSettings(config, NGram.settings);
    const table = (name) => tensors[`trie.${name}`]?.data;
    this.order = config.order;
    this.vocab = config.vocab_size;
    this.longest = Infinity;
    this.keys = [];
    this.probs = [];
    this.backoffs = [];
    for (let n = 1; n <= this.order; n++) {
      this.keys[n] = table(`keys_${n}`);              // sorted: index of the context × vocabulary + word
      this.probs[n] = table(`log10_probs_${n}`);
      this.backoffs[n] = table(`log10_backoffs_${n}`);
    }
  }

  /** The state before the first word. */
  start() { return []; }

  /** The state after a further word: the last n-1 words are all that it remembers. */
  next(state, word) { return this.order > 1 ? [...state, word].slice(1 - this.order) : []; }

  /** ln P(w | h) of every word w. */
  logProbs(history) { return this.distribution(history).logProbs; }

  /** {logProbs, lengths}: ln P(w | h) of every word w, and the number of words of the n-gram that it comes from. */
  distribution(history) {
    const table = Float64Array.from(this.probs[1]);
    const lengths = new Uint8Array(this.vocab).fill(1);
    for (let n = 1; n <= history.length; n++) {
      const context = this.find(history.slice(-n));
      if (context < 0) continue;
      for (let w = 0; w < this.vocab; w++) table[w] += this.backoffs[n][context];                     // bow(h) P(w | h')
      const end = this.search(n + 1, (context + 1) * this.vocab);
      for (let i = this.search(n + 1, context * this.vocab); i < end; i++) {
        const w = this.keys[n + 1][i] % this.vocab;
        table[w] = this.probs[n + 1][i];                                                              // p*(hw)
        lengths[w] = n + 1;
      }
    }
    return { logProbs: table.map((value) => Math.min(0, value * Math.LN10)), lengths };
  }

  /** The index of a stored n-gram among those of its order, or -1. */
  find(words) {
    let at = words[0];
    for (let n = 2; n <= words.length; n++) {
      const key = at * this.vocab + words[n - 1];
      at = this.search(n, key);
      if (this.keys[n][at] !== key) return -1;
    }
    return at;
  }

  /** The first index whose key is at least `key`. */
  search(n, key) {
    let low = 0;
    let high = this.keys[n].length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.keys[n][middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
