"use strict";
// Learning pieces by merging neighbours: byte pairs (slides Y:371-405; Sennrich et al. 2016), and WordPiece (Schuster and
// Nakajima 2012). Each word of the text is a row of symbols, at first its letters. Again and again, one pair of
// neighbours a b becomes a new symbol ab, in all its places, from left to right:
//
//     byte pairs    the pair of the greatest count(ab)
//     WordPiece     the pair of the greatest count(ab) ln(N count(ab) / (count(a) count(b))), by which the likelihood of
//                   the text grows if symbols are independent; N is the number of all symbols
//
// Of equal pairs, the first by its letters is merged (of equal gains, the most frequent pair first).

/** Words as rows of symbols, with the counts of symbols and of pairs of neighbours. */
class SymbolRows {
  /** `rows` is [{symbols, count}]; no symbol has a space. */
  constructor(rows) {
    this.rows = rows;
    this.symbols = new Map();
    this.pairs = new Map();
    this.total = 0;
    for (const row of rows) this.count(row, row.count);
  }
  count({ symbols }, times) {
    this.total += times * symbols.length;
    for (const [at, symbol] of symbols.entries()) {
      this.symbols.set(symbol, (this.symbols.get(symbol) ?? 0) + times);
      if (at + 1 === symbols.length) continue;
      const key = `${symbol} ${symbols[at + 1]}`;
      if (!this.pairs.has(key)) this.pairs.set(key, { left: symbol, right: symbols[at + 1], count: 0 });
      const pair = this.pairs.get(key);
      pair.count += times;
      if (!pair.count) this.pairs.delete(key);
    }
  }
  /** Makes one symbol of a pair wherever it is. */
  merge({ left, right }) {
    for (const row of this.rows) {
      if (!row.symbols.some((symbol, at) => symbol === left && row.symbols[at + 1] === right)) continue;
      this.count(row, -row.count);
      const merged = [];
      for (let at = 0; at < row.symbols.length; at++) {
        const isPair = row.symbols[at] === left && row.symbols[at + 1] === right;
        merged.push(isPair ? left + right : row.symbols[at]);
        if (isPair) at++;
      }
      row.symbols = merged;
      this.count(row, row.count);
    }
  }
}

/** Whether one string comes before another by code points, as Python sorts. */
function isBefore(one, other) {
  const a = Array.from(one, (letter) => letter.codePointAt(0));
  const b = Array.from(other, (letter) => letter.codePointAt(0));
  const at = a.findIndex((point, place) => point !== b[place]);
  return at < 0 ? a.length < b.length : a[at] < (b[at] ?? -1);
}

/** Whether a pair is merged before another one: the greater value, then the greater count, then the first by letters. */
function isMergedBefore(one, other) {
  if (one.value !== other.value) return one.value > other.value;
  if (one.count !== other.count) return one.count > other.count;
  return one.left !== other.left ? isBefore(one.left, other.left) : isBefore(one.right, other.right);
}

/** The merges of a text, the first one first: [{left, right, count}]; at most `limit`. `value(pair, rows)` is to be greatest. */
function learnMerges(rows, limit, value, isAllowed = () => true) {
  const merges = [];
  while (merges.length < limit) {
    let best;
    for (const pair of rows.pairs.values()) {
      if (!isAllowed(pair)) continue;
      const found = { ...pair, value: value(pair, rows) };
      if (!best || isMergedBefore(found, best)) best = found;
    }
    if (!best) break;
    merges.push({ left: best.left, right: best.right, count: best.count });
    rows.merge(best);
  }
  return merges;
}

// Byte pairs

const SPECIAL_TOKENS = ["<unk>", "<s>", "</s>", "<pad>"];

/** The words of a text for byte pairs: letters, the last of which carries the mark. A letter of the mark is unknown. */
class BytePairWords {
  constructor(counts, mark) {
    this.mark = mark;
    const letters = new Set([...counts.keys()].flatMap((word) => Array.from(word)));
    const forms = [...letters].flatMap((letter) => [letter, letter + mark]);
    this.letters = forms.filter((symbol, at) => this.isPlain(symbol, at % 2 === 1));
    const known = new Set(this.letters);
    this.rows = [...counts].flatMap(([word, count]) => {
      const symbols = Array.from(word);
      symbols[symbols.length - 1] += mark;
      return runs(symbols, (symbol) => known.has(symbol)).map((run) => ({ symbols: run, count }));
    });
  }
  /** Whether a symbol cannot be mistaken for a special token, or for one at another place of the word. */
  isPlain(symbol, endsWord) {
    const isMarked = symbol.endsWith(this.mark);
    return !SPECIAL_TOKENS.includes(symbol) && isMarked === endsWord && !symbol.slice(0, -1).includes(this.mark);
  }
  /** The merges, the most frequent pair first. */
  learn(limit) {
    const isAllowed = ({ left, right }) => this.isPlain(left + right, right.endsWith(this.mark));
    return learnMerges(new SymbolRows(this.rows.map((row) => ({ ...row }))), limit, (pair) => pair.count, isAllowed);
  }
  /** The rows after so many merges. */
  after(merges) {
    const rows = new SymbolRows(this.rows.map((row) => ({ ...row })));
    for (const merge of merges) rows.merge(merge);
    return rows;
  }
}

/** The longest stretches of a list whose items all fulfil a condition. */
function runs(items, condition) {
  const found = [];
  let inside = false;
  for (const item of items) {
    const fits = condition(item);
    if (fits && inside) found.at(-1).push(item);
    else if (fits) found.push([item]);
    inside = fits;
  }
  return found;
}

/** How often each string occurs in a list, as a Map. */
function countStrings(strings) {
  const counts = new Map();
  for (const one of strings) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
}

// WordPiece

/** The growth of the likelihood by a merge, to first order. */
function likelihoodGain({ left, right, count }, { symbols, total }) {
  return count * Math.log((total * count) / (symbols.get(left) * symbols.get(right)));
}

/** The pieces of WordPiece: letters, with ## and without, then so many merged ones, the first of them first. */
function learnWordPieces(counts, limit) {
  const START = "\0"; // before the first letter of a word
  const words = [...counts.keys()].filter((word) => Array.from(word).length <= 100);
  const letters = [...new Set(words.flatMap((word) => Array.from(word)))].sort(
    (a, b) => a.codePointAt(0) - b.codePointAt(0),
  );
  const rows = words.map((word) => {
    const symbols = Array.from(word);
    return { symbols: [START + symbols[0], ...symbols.slice(1)], count: counts.get(word) };
  });
  const named = (symbol) => (symbol.startsWith(START) ? symbol.slice(1) : `##${symbol}`);
  const forms = letters.flatMap((letter) =>
    isPunctuation(letter) || letter.match(CHINESE) ? [letter] : [letter, `##${letter}`],
  );
  return [
    ...forms,
    ...learnMerges(new SymbolRows(rows), limit, likelihoodGain).map(({ left, right }) => named(left + right)),
  ];
}
