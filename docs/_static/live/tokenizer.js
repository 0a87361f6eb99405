"use strict";
// Reads tokenizer.json. The rules are those of the library `tokenizers`, in Rust.

// Rust's white space. JavaScript's \s differs in two characters: it lacks U+0085 and has U+FEFF.
const SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
const WHITE_SPACE = new RegExp(`[${SPACES}]+`);

/**
 * A tokenizer of pieces. A text is cut at the added tokens, such as <s>; what is between them is normalized, split into
 * words, and each word is cut into pieces. Last, the template puts special tokens around the whole.
 */
class PieceTokenizer {
  constructor(json) {
    requireFields(json, {
      version: [],
      added_tokens: [],
      decoder: [],
      model: [],
      normalizer: [],
      post_processor: [],
      pre_tokenizer: [],
      truncation: [null],
      padding: [null],
    });
    this.normalize = readNormalizer(json.normalizer);
    this.split = readSplitter(json.pre_tokenizer);
    this.model = readModel(json.model);
    this.finders = readAddedTokens(json.added_tokens, json.normalizer !== null);
    this.added = new Set(json.added_tokens.map(({ id }) => id));
    this.ids = new Map([...this.model.ids, ...json.added_tokens.map((token) => [token.content, token.id])]);
    this.tokens = [];
    for (const [token, id] of this.ids) this.tokens[id] = token;
    [this.before, this.after] = readTemplate(json.post_processor);
    this.unknown = this.model.unknown;
    this.end = this.ids.get("</s>");
  }
  /** The pieces of a text, [{text, id}], without the template's. */
  pieces(text) {
    let parts = [{ text }];
    for (const find of this.finders) parts = parts.flatMap((part) => (part.id === undefined ? find(part.text) : [part]));
    return parts.flatMap((part) => (part.id === undefined ? this.piecesBetween(part.text) : [part]));
  }
  piecesBetween(text) {
    return this.split(this.normalize(text))
      .filter(Boolean)
      .flatMap((word) => this.model.cut(word));
  }
  encode(text) {
    return [...this.before, ...this.pieces(text).map((piece) => piece.id), ...this.after];
  }
}

/** A tokenizer of whole words that puts <s> before a text, as language models of words have it. */
class WordTokenizer extends PieceTokenizer {
  constructor(json) {
    if (json.model.type !== "WordLevel") throw new Error(`a tokenizer of words is read here, and this one is of ${json.model.type} pieces`);
    super(json);
    if (!this.before.length) throw new Error("a tokenizer that puts no <s> before a text is not read here");
  }
}

/** Throws an error for a field that is not among `allowed`, or has none of the values listed there; [] is any value. */
function requireFields(object, allowed) {
  for (const [name, value] of Object.entries(object)) {
    const values = allowed[name];
    const known = values && (values.length === 0 || values.includes(value));
    if (!known)
      throw new Error(`a tokenizer.json with ${name} ${JSON.stringify(value)?.slice(0, 60)} is not read here`);
  }
}

/** Functions that cut a text at added tokens: those that are looked for before normalizing come first. */
function readAddedTokens(tokens, isNormalized) {
  for (const token of tokens)
    requireFields(token, {
      id: [],
      content: [],
      special: [],
      single_word: [false],
      lstrip: [false],
      rstrip: [false],
      normalized: isNormalized ? [false] : [],
    });
  const groups = [false, true].map((normalized) =>
    tokens.filter((token) => token.normalized === normalized && token.content),
  );
  return groups
    .filter((group) => group.length)
    .map((group) => {
      const ids = new Map(group.map((token) => [token.content, token.id]));
      const longestFirst = [...ids.keys()].sort((a, b) => b.length - a.length);
      const pattern = new RegExp(
        `(${longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&")).join("|")})`,
        "u",
      );
      return (text) =>
        text
          .split(pattern)
          .filter(Boolean)
          .map((part) => (ids.has(part) ? { text: part, id: ids.get(part) } : { text: part }));
    });
}

/** The ids before and after a text. */
function readTemplate(processor) {
  if (processor === null) return [[], []];
  requireFields(processor, { type: ["TemplateProcessing"], single: [], pair: [], special_tokens: [] });
  const around = [[], []];
  let side = 0;
  for (const { Sequence, SpecialToken } of processor.single) {
    if (Sequence) side++;
    else around[side].push(...processor.special_tokens[SpecialToken.id].ids);
  }
  if (side !== 1) throw new Error("a template without the text, or with the text twice, is not read here");
  return around;
}

// Normalizing

/** The function that normalizes a text. */
function readNormalizer(json) {
  if (json === null) return (text) => text;
  if (json.type === "Lowercase") return lowerCase;
  requireFields(json, {
    type: ["BertNormalizer"],
    clean_text: [],
    handle_chinese_chars: [],
    strip_accents: [],
    lowercase: [],
  });
  const steps = [];
  if (json.clean_text) steps.push(cleanText);
  if (json.handle_chinese_chars) steps.push((text) => text.replace(CHINESE, " $& "));
  if (json.strip_accents ?? json.lowercase) steps.push(stripAccents);
  if (json.lowercase) steps.push(lowerCase);
  return (text) => steps.reduce((done, step) => step(done), text);
}

/** A text in small letters, letter by letter: a sigma at the end of a word stays "σ". */
const lowerCase = (text) => Array.from(text, (letter) => letter.toLowerCase()).join("");

// The tables of the Rust library are those of Unicode 8 (for decompositions, of a later one): what they lack is neither
// a mark, nor a sign of control or punctuation, and stays as it is.
const LATER_CONTROL = /[\u0890\u0891\u08e2\u{110cd}\u{13430}-\u{1343f}]/u;
const LATER_MARKS = characterClass(
  "7fd 897-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba ece 180f 1885-1886 1abf-1add 1ae0-1aeb 1df6-1dfb a82c a8c5 a8ff a9bd 105c9 " +
    "105e4 10d24-10d27 10d69-10d6d 10eab-10eac 10efa-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf 1123e 11241 1133b 11383 " +
    "11385 1138e 11391 113bb-113c0 113c5 113c7-113c8 113ce 113d0 113d2 113e1-113e2 11438-1143f 11442-11444 11446 1145e 1182f-11837 11839-1183a " +
    "11938 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a 11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 " +
    "11a98-11a99 11b60 11b62-11b64 11b66 11c30-11c36 11c38-11c3d 11c3f 11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a " +
    "11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 11d97 11ef3-11ef4 11f00-11f01 11f36-11f3a 11f40 11f42 11f5a 13440 13447-13455 1611e-16129 " +
    "1612d-1612f 16d68-16d6a 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136 " +
    "1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e944-1e94a",
);
const LATER_PUNCTUATION = characterClass(
  "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10ed0 10f55-10f59 10f86-10f89 113d4-113d5 113d7-113d8 1144b-1144f " +
    "1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c 11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 " +
    "11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f 16e97-16e9a 16fe2 1e5ff 1e95e-1e95f",
);
const CHINESE =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

/** A pattern of characters, from code points and ranges of them in hexadecimal digits. */
function characterClass(ranges) {
  return new RegExp(`[${ranges.replace(/[0-9a-f]+/g, "\\u{$&}").replaceAll(" ", "")}]`, "u");
}

/** A text without control characters, and with spaces for its white space. */
function cleanText(text) {
  const isControl = (c) =>
    c === "\ufffd" || (/[\p{Cc}\p{Cf}\p{Co}]/u.test(c) && !/[\t\n\r]/.test(c) && !LATER_CONTROL.test(c));
  return Array.from(text, (c) => (isControl(c) ? "" : WHITE_SPACE.test(c) ? " " : c)).join("");
}

/** A text in Unicode's decomposed form (NFD), without its marks. */
function stripAccents(text) {
  let plain = "",
    run = "";
  const flush = () => {
    plain += run.normalize("NFD").replace(/[\p{Mn}\u1734\u{1171e}]/gu, "");
    run = "";
  };
  for (const c of text) {
    if (LATER_MARKS.test(c)) {
      flush();
      plain += c;
    } else run += c;
  }
  flush();
  return plain;
}

// Splitting into words

/** A word with the white space before it, as the tokenizer.json of a `UnigramTokenizer` spells it. */
const STRETCH = `[${SPACES}]*[^${SPACES}]+|[${SPACES}]+`;
const STRETCHES = new RegExp(STRETCH, "gu");
/** GPT-2's words: English endings, runs of letters, digits or other signs with the space before, white space. */
const GPT2_WORDS = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{L}\\p{N}${SPACES}]+|[${SPACES}]+(?![^${SPACES}])|[${SPACES}]+`,
  "gu",
);

/** The function that splits a text into words. */
function readSplitter(json) {
  const atSpaces = (text) => text.split(WHITE_SPACE).filter(Boolean);
  if (json === null) return (text) => [text];
  if (json.type === "WhitespaceSplit") return atSpaces;
  if (json.type === "BertPreTokenizer") return (text) => atSpaces(text).flatMap(splitPunctuation);
  if (json.type === "ByteLevel") {
    requireFields(json, { type: [], add_prefix_space: [false], trim_offsets: [], use_regex: [] });
    const words = json.use_regex ? (text) => text.match(GPT2_WORDS) ?? [] : (text) => [text];
    return (text) => words(text).map((word) => Array.from(utf8(word), (byte) => BYTE_NAMES[byte]).join(""));
  }
  if (json.type === "Split") {
    requireFields(json, { type: [], pattern: [], behavior: ["Isolated"], invert: [false] });
    if (json.pattern.Regex !== STRETCH) throw new Error("words split by another pattern are not read here");
    return (text) => text.match(STRETCHES) ?? [];
  }
  const own = [
    { type: "WhitespaceSplit" },
    { type: "Metaspace", replacement: " ", prepend_scheme: "always", split: false },
  ];
  if (json.type !== "Sequence" || JSON.stringify(json.pretokenizers) !== JSON.stringify(own))
    throw new Error(`words split by ${json.type} are not read here`);
  return (text) => atSpaces(text).map((word) => ` ${word}`);
}

const isPunctuation = (c) => /[\p{P}!-/:-@[-`{-~\u166d\u{111c9}]/u.test(c) && !LATER_PUNCTUATION.test(c);

/** A word in which each punctuation mark is a word of its own. */
function splitPunctuation(word) {
  const parts = [];
  let inside = false;
  for (const c of word) {
    const alone = isPunctuation(c);
    if (inside && !alone) parts[parts.length - 1] += c;
    else parts.push(c);
    inside = !alone;
  }
  return parts;
}

/** The bytes of a text in UTF-8. */
const utf8 = (text) => new TextEncoder().encode(text);

/** The visible character for each byte: printable ones of Latin-1 stay, the others are those from U+0100 on. */
const BYTE_NAMES = (() => {
  const printable = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  let hidden = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : 0x100 + hidden++));
})();

// Cutting words into pieces

/** The model of pieces: `ids`, `unknown`, and `cut(word)`, which returns [{text, id}]. */
function readModel(json) {
  const kinds = { BPE: BytePairs, Unigram: UnigramPieces, WordPiece: LongestPieces, WordLevel: WholeWords };
  if (!(json.type in kinds)) throw new Error(`a tokenizer of the type ${json.type} is not read here`);
  return new kinds[json.type](json);
}

/** Whole words of a list. */
class WholeWords {
  constructor(json) {
    requireFields(json, { type: ["WordLevel"], vocab: [], unk_token: [] });
    this.ids = new Map(Object.entries(json.vocab));
    this.unknown = this.ids.get(json.unk_token);
  }
  cut(word) {
    const id = this.ids.get(word) ?? this.unknown;
    if (id === undefined) throw new Error(`“${word}” is not in the vocabulary, and no token stands for unknown words`);
    return [{ text: word, id }];
  }
}

/** Byte-pair encoding: of all pairs of neighbours, the one that was learnt first is merged, again and again (Y:371-405). */
class BytePairs {
  constructor(json) {
    requireFields(json, {
      type: ["BPE"],
      vocab: [],
      merges: [],
      unk_token: [],
      end_of_word_suffix: [],
      byte_fallback: [],
      ignore_merges: [],
      dropout: [null],
      continuing_subword_prefix: [null, ""],
      fuse_unk: [false],
    });
    this.ids = new Map(Object.entries(json.vocab));
    this.unknown = json.unk_token === null ? undefined : this.ids.get(json.unk_token);
    this.mark = json.end_of_word_suffix ?? "";
    this.bytes = json.byte_fallback;
    this.wholeWords = json.ignore_merges;
    this.ranks = mergeRanks(json.merges);
  }
  cut(word) {
    if (this.wholeWords && this.ids.has(word)) return [{ text: word, id: this.ids.get(word) }];
    const letters = Array.from(word);
    letters[letters.length - 1] += this.mark;
    const symbols = letters.flatMap((letter) => (this.bytes && !this.ids.has(letter) ? byteTokens(letter) : [letter]));
    const pieces = mergeSymbols(symbols, this.ranks).map((text) => ({ text, id: this.ids.get(text) ?? this.unknown }));
    return pieces.filter((piece) => piece.id !== undefined);
  }
}

/** The tokens <0x00> to <0xFF> of a letter's bytes. */
const byteTokens = (letter) =>
  Array.from(utf8(letter), (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);

/** The number of each merge, by its left and then its right symbol. */
function mergeRanks(merges) {
  const ranks = new Map();
  for (const [number, [left, right]] of merges.entries()) {
    if (!ranks.has(left)) ranks.set(left, new Map());
    ranks.get(left).set(right, number);
  }
  return ranks;
}

/** The symbols after all merges; `symbols` is overwritten. */
function mergeSymbols(symbols, ranks) {
  const rank = (at) => ranks.get(symbols[at])?.get(symbols[at + 1]) ?? Infinity;
  const order = Array.from({ length: symbols.length - 1 }, (_, at) => rank(at));
  for (;;) {
    let best = 0;
    for (let at = 1; at < order.length; at++) if (order[at] < order[best]) best = at;
    if (!(order[best] < Infinity)) return symbols;
    symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
    order.splice(best, 1);
    if (best > 0) order[best - 1] = rank(best - 1);
    if (best < order.length) order[best] = rank(best);
  }
}

/** WordPiece: the longest piece that begins the word, then the longest that goes on, marked by ## (Schuster & Nakajima 2012). */
class LongestPieces {
  constructor(json) {
    requireFields(json, {
      type: ["WordPiece"],
      vocab: [],
      unk_token: [],
      continuing_subword_prefix: [],
      max_input_chars_per_word: [],
    });
    this.ids = new Map(Object.entries(json.vocab));
    this.unknown = this.ids.get(json.unk_token);
    this.unknownToken = json.unk_token;
    this.mark = json.continuing_subword_prefix;
    this.longest = json.max_input_chars_per_word;
  }
  cut(word) {
    const letters = Array.from(word),
      unknown = [{ text: this.unknownToken, id: this.unknown }],
      pieces = [];
    if (letters.length > this.longest) return unknown;
    for (let start = 0, end; start < letters.length; start = end) {
      let text;
      for (end = letters.length; end > start; end--) {
        text = (start ? this.mark : "") + letters.slice(start, end).join("");
        if (this.ids.has(text)) break;
      }
      if (end === start) return unknown;
      pieces.push({ text, id: this.ids.get(text) });
    }
    return pieces;
  }
}

/** Unigram: the pieces x_1 ... x_m of a word with the greatest ln p(x_1) + ... + ln p(x_m) (Y:402; Kudo 2018). */
class UnigramPieces {
  constructor(json) {
    requireFields(json, { type: ["Unigram"], vocab: [], unk_id: [], byte_fallback: [false] });
    this.ids = new Map(json.vocab.map(([piece], id) => [piece, id]));
    this.scores = json.vocab.map(([, score]) => score);
    this.unknown = json.unk_id ?? undefined;
    this.unknownScore = this.scores.reduce((least, score) => Math.min(least, score), 0) - 10; // the library's penalty
    this.longest = json.vocab.reduce((most, [piece]) => Math.max(most, Array.from(piece).length), 0);
  }
  cut(word) {
    const letters = Array.from(word),
      { steps } = bestPieces(letters, (text) => this.scores[this.ids.get(text)], this.longest, this.unknownScore);
    const pieces = [];
    for (const { text, unknown } of steps) {
      if (unknown && pieces.at(-1)?.unknown)
        pieces.at(-1).text += text; // a run of unknown letters is one token
      else pieces.push({ text, unknown });
    }
    return pieces.map(({ text, unknown }) => ({ text, id: unknown ? this.unknown : this.ids.get(text) }));
  }
}

/** The best pieces of a word, {score, steps: [{text, unknown}]}: best(end) = max over its last piece of best(start) + ln p (Viterbi). */
function bestPieces(letters, scoreOf, longest, unknownScore) {
  const best = [{ score: 0 }];
  const offer = (end, step) => {
    if (!best[end] || step.score > best[end].score) best[end] = step;
  };
  for (let start = 0; start < letters.length; start++) {
    let text = "";
    for (let end = start + 1; end <= Math.min(start + longest, letters.length); end++) {
      text += letters[end - 1];
      const score = scoreOf(text);
      if (score !== undefined) offer(end, { score: score + best[start].score, start, text, unknown: false });
      else if (end === start + 1) offer(end, { score: unknownScore + best[start].score, start, text, unknown: true });
    }
  }
  const steps = [];
  for (let end = letters.length; end > 0; end = best[end].start) steps.unshift(best[end]);
  return { score: best[letters.length].score, steps };
}

// What readers type

const PLAIN_MARKS = { "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'", "–": "-", "—": "-" };

/** A text with plain quotes and hyphens for those that phones type, where the tokenizer knows only the plain ones. */
function withKnownMarks(text, tokenizer) {
  const hasMark = (mark) => tokenizer.tokens.some((token) => token.includes(mark));
  tokenizer.plainMarks ??= Object.fromEntries(
    Object.entries(PLAIN_MARKS).filter(([mark, plain]) => !hasMark(mark) && hasMark(plain)),
  );
  return text.replace(/[“”„‘’‚–—]/gu, (mark) => tokenizer.plainMarks[mark] ?? mark);
}
