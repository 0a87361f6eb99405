"use strict";
/** An n-gram model in Katz's back-off form:  P(w | h) = p*(hw) if hw is stored, else bow(h) P(w | h')  (slides Y:88-225). */
class NGram {
  constructor(tensors, config) {
    const table = (name) => tensors[`trie.${name}`]?.data;
    this.order = config.order; this.vocab = config.vocab_size;
    this.keys = []; this.probs = []; this.backoffs = [];
    for (let n = 1; n <= this.order; n++) {
      this.keys[n] = table(`keys_${n}`);              // sorted: index of the context x vocabulary + word
      this.probs[n] = table(`log10_probs_${n}`);
      this.backoffs[n] = table(`log10_backoffs_${n}`);
    }
  }
  start() { return []; }
  next(state, word) { return [...state, word].slice(1 - this.order); }   // the last n-1 words are all it remembers

  /** First index whose key is at least `key`. */
  search(n, key) {
    let low = 0, high = this.keys[n].length;
    while (low < high) { const middle = (low + high) >> 1; if (this.keys[n][middle] < key) low = middle + 1; else high = middle; }
    return low;
  }
  /** Index of a stored n-gram, or -1. */
  find(words) {
    let at = words[0];
    for (let n = 2; n <= words.length; n++) {
      const key = at * this.vocab + words[n - 1];
      at = this.search(n, key);
      if (this.keys[n][at] !== key) return -1;
    }
    return at;
  }
  /** ln P(w | h) of every word w; `lengths[w]` is the number of words of the n-gram that it comes from. */
  logProbs(history) {
    const table = Float64Array.from(this.probs[1]);
    this.lengths = new Uint8Array(this.vocab).fill(1);
    for (let n = 1; n <= history.length; n++) {
      const context = this.find(history.slice(-n));
      if (context < 0) break;                         // no longer context is stored either
      for (let w = 0; w < this.vocab; w++) table[w] += this.backoffs[n][context];                   // bow(h) P(w | h')
      for (let i = this.search(n + 1, context * this.vocab); i < this.search(n + 1, (context + 1) * this.vocab); i++) {
        const w = this.keys[n + 1][i] % this.vocab;
        table[w] = this.probs[n + 1][i];                                                            // p*(hw)
        this.lengths[w] = n + 1;
      }
    }
    return table.map((value) => value * Math.LN10);
  }
}
