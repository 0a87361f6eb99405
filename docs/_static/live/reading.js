"use strict";
// A model reads a text word by word, is asked for the next word, and writes on.

/**
 * What a reader has typed: {words, prefix, left}. `prefix` is a last word that is not
 * finished, and `left` the number of words after the first `most`, which are left out.
 */
function typedWords(text, tokenizer, most) {
  if (!(tokenizer instanceof WordTokenizer)) return { words: text ? [text] : [], prefix: "", left: 0 };
  const parts = withKnownMarks(text, tokenizer).split(WHITE_SPACE).filter(Boolean);
  const words = parts.flatMap((part) => wordsOfPart(part, tokenizer));
  const isFinished = !/[\p{L}\p{M}\p{N}]$/u.test(text) || WHITE_SPACE.test(text.at(-1));
  const prefix = isFinished || !words.length ? "" : words.pop();
  if (words.length <= most) return { words, prefix, left: 0 };
  return { words: words.slice(0, most), prefix: "", left: words.length - most };
}

/**
 * The words of what stands between white space: the whole if the model knows it; else marks of punctuation alone, if
 * the model knows them so, since its training text then had them so ("king's," may be "king", "'s" and ",").
 */
function wordsOfPart(part, tokenizer) {
  const { ids } = tokenizer;
  const known = ids.has(part) || !hasNoCapitals(tokenizer) ? part : part.toLowerCase();
  if (ids.has(known)) return [known];
  const pieces = known.match(/[\p{L}\p{M}\p{N}]+|[^]/gu);
  const words = [];
  for (let from = 0, to; from < pieces.length; from = to) {
    to = pieces.length;
    while (to > from + 1 && !ids.has(pieces.slice(from, to).join(""))) to--;        // the longest known beginning
    words.push(pieces.slice(from, to).join(""));
  }
  const marks = words.filter((word) => !/[\p{L}\p{M}\p{N}]/u.test(word));
  return marks.every((mark) => ids.has(mark)) ? words : [known];
}

/** True if no word of the vocabulary has a capital: then the training text was in small letters. */
function hasNoCapitals(tokenizer) {
  tokenizer.noCapitals ??= !tokenizer.tokens.some((word) => word !== word.toLowerCase());
  return tokenizer.noCapitals;
}

/** A model that reads a text, and a longer or changed text from where it differs. */
class TextReader {
  constructor(model, tokenizer) {
    Object.assign(this, { model, tokenizer, ids: [], pieces: [], states: [model.start()], taken: [] });
  }

  /** Reads words: sets `pieces` ({text, id, bits, known} of each), `states`, and `logProbs` of the next word. */
  read(words) {
    const before = this.tokenizer.before;
    const pieces = this.tokenizer.pieces(words.join(" "));
    const kept = pieces.slice(0, this.model.longest - before.length);
    const ids = [...before, ...kept.map(({ id }) => id)];
    let same = 0;
    while (same < Math.min(ids.length, this.ids.length) && this.ids[same] === ids[same]) same++;
    this.states.length = same + 1;
    this.taken.length = same;
    this.ids = ids;
    for (let t = same; t < ids.length; t++) {
      this.taken.push(t < before.length ? 0 : this.after(t)[ids[t]]);               // ln P of this word
      this.states.push(this.model.next(this.states[t], ids[t]));
    }
    this.left = pieces.length - kept.length;
    this.logProbs = this.after(ids.length);
    this.pieces = kept.map(({ text, id }, i) => ({
      text, id, bits: -this.taken[before.length + i] / Math.LN2, known: id !== this.tokenizer.unknown,
    }));
  }

  /** ln P of every word after the first t tokens; the last answer is kept. */
  after(t) {
    const state = this.states[t];
    if (this.last?.state !== state) this.last = { state, logProbs: this.model.logProbs(state) };
    return this.last.logProbs;
  }

  /** 2 to the mean of the bits, the perplexity of the words; NaN without words. */
  get perplexity() { return 2 ** (this.pieces.reduce((sum, { bits }) => sum + bits, 0) / this.pieces.length); }

  /** {ids, share}: the most probable next words that begin with `prefix`, and the probability of all that do. */
  best(number, prefix) {
    const ids = [];
    let share = 0;
    this.logProbs.forEach((value, w) => {
      if (value === -Infinity || !this.tokenizer.tokens[w].startsWith(prefix)) return;
      share += Math.exp(value);
      if (ids.length === number && value <= this.logProbs[ids.at(-1)]) return;
      const at = ids.findIndex((other) => this.logProbs[other] < value);
      ids.splice(at < 0 ? ids.length : at, 0, w);
      ids.length = Math.min(ids.length, number);
    });
    return { ids, share };
  }

  /**
   * Ids of at most `number` words that are drawn after the text, the first of them beginning with `prefix`: in
   * proportion to P(w)^(1/temperature). Unknown words and special tokens are not drawn, and nothing after the end.
   */
  write({ number, prefix, temperature, seed }) {
    const { model, tokenizer } = this;
    const random = randomNumbers(seed);
    const ids = [];
    let state = this.states.at(-1);
    let logProbs = this.logProbs;
    const isWord = (w) => w === tokenizer.end || (w !== tokenizer.unknown && !tokenizer.added.has(w));
    const may = (w) => isWord(w) && (ids.length > 0 || tokenizer.tokens[w].startsWith(prefix));
    while (ids.length < number && this.ids.length + ids.length <= model.longest) {
      const id = drawnWord(logProbs, may, temperature, random());
      if (id === undefined) break;
      ids.push(id);
      if (id === tokenizer.end || this.ids.length + ids.length > model.longest) break;
      state = model.next(state, id);
      logProbs = model.logProbs(state);
    }
    return ids;
  }
}

/** A word drawn in proportion to P(w)^(1/temperature) among those that may be drawn, with `number` from [0, 1). */
function drawnWord(logProbs, may, temperature, number) {
  let largest = -Infinity;
  logProbs.forEach((value, w) => { if (value > largest && may(w)) largest = value; });
  if (largest === -Infinity) return undefined;
  const weights = logProbs.map((value, w) => (may(w) ? Math.exp((value - largest) / temperature) : 0));
  let rest = number * weights.reduce((sum, weight) => sum + weight, 0);
  const drawn = weights.findIndex((weight) => (rest -= weight) < 0);
  return drawn < 0 ? weights.findLastIndex((weight) => weight > 0) : drawn;
}
