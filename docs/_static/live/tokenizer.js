"use strict";
// Reads tokenizer.json. The rules are those of the library `tokenizers`, in Rust.

// Rust's white space. JavaScript's \s differs in two characters: it lacks U+0085 and has U+FEFF.
const WHITE_SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** The tokenizer of a tokenizer.json, which must be of a kind that is read here. */
function readTokenizer(json) {
  if (json.model.type === "WordLevel") return new WordTokenizer(json);
  throw new Error(`a tokenizer of the type ${json.model.type} is not read here`);
}

/** Words between white space, from a closed vocabulary; special tokens such as <s> come before a text. */
class WordTokenizer {
  constructor(json) {
    const split = json.pre_tokenizer?.type;
    const normal = json.normalizer?.type ?? null;
    if (!["WhitespaceSplit", "BertPreTokenizer"].includes(split) || ![null, "Lowercase"].includes(normal))
      throw new Error("a tokenizer that splits at white space or punctuation is read here, and this one does more");
    this.splitsPunctuation = split === "BertPreTokenizer";
    this.lowers = normal === "Lowercase";
    this.ids = new Map(Object.entries(json.model.vocab));
    for (const token of json.added_tokens) this.ids.set(token.content, token.id);
    this.tokens = [];
    for (const [word, id] of this.ids) this.tokens[id] = word;
    this.special = addedTokens(json);
    this.before = tokensBefore(json);
    this.unknown = this.ids.get(json.model.unk_token);
    this.end = this.ids.get("</s>");
  }

  /** The ids of a text, with the special tokens before it. */
  encode(text) { return [...this.before, ...this.pieces(text).map(({ id }) => id)]; }

  /** The words of a text: [{text, id}]. Throws an error for an unknown word, where no token stands for it. */
  pieces(text) {
    const parts = this.special ? text.split(this.special) : [text];             // the odd ones are special tokens
    return parts.flatMap((part, i) => {
      if (i % 2) return [{ text: part, id: this.ids.get(part) }];
      return this.split(part).map((word) => ({ text: word, id: this.idOf(word) }));
    });
  }

  /** The words of a text without special tokens. */
  split(text) {
    const normal = this.lowers ? Array.from(text, (character) => character.toLowerCase()).join("") : text;
    const words = normal.split(WHITE_SPACE).filter(Boolean);
    return this.splitsPunctuation ? words.flatMap((word) => word.match(PUNCTUATION_OR_WORD)) : words;
  }

  idOf(word) {
    const id = this.ids.get(word) ?? this.unknown;
    if (id === undefined) throw new Error(`“${word}” is not in the vocabulary, and no token stands for unknown words`);
    return id;
  }
}

// Marks of ASCII, and Unicode's punctuation, stand alone.
const PUNCTUATION_OR_WORD = /[!-/:-@[-`{-~]|\p{P}|[^!-/:-@[-`{-~\p{P}]+/gu;

/** What finds the added tokens in a text, the longest first, as one group; null where there are none. */
function addedTokens({ added_tokens: tokens }) {
  for (const one of tokens)
    if (one.single_word || one.lstrip || one.rstrip || one.normalized)
      throw new Error(`the added token ${one.content} has a setting that is not read here`);
  const spellings = tokens.map(({ content }) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return spellings.length ? new RegExp(`(${spellings.sort((a, b) => b.length - a.length).join("|")})`) : null;
}

/** The ids of the special tokens that stand before a text. */
function tokensBefore({ post_processor: processor }) {
  if (processor?.type !== "TemplateProcessing") throw new Error("a tokenizer that puts no <s> before a text is not read here");
  const first = processor.single.findIndex((part) => part.Sequence);
  const before = processor.single.slice(0, first).flatMap((part) => processor.special_tokens[part.SpecialToken.id].ids);
  if (!before.length) throw new Error("a tokenizer that puts no <s> before a text is not read here");
  return before;
}
