"use strict";
// Reads tokenizer.json. The rules are those of the library `tokenizers`, in Rust.

// Rust's white space. JavaScript's \s differs in two characters: it lacks U+0085 and has U+FEFF.
const WHITE_SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** The tokenizer of a tokenizer.json, which must be of a kind that is read here. */
function readTokenizer(json) {
  if (json.model.type === "WordLevel") return new WordTokenizer(json);
  throw new Error(`a tokenizer of the type ${json.model.type} is not read here`);
}

/** Words: white space separates them, an unknown one is <unk>, and <s> comes first. */
class WordTokenizer {
  constructor(json) {
    if (json.pre_tokenizer?.type !== "WhitespaceSplit" || json.normalizer) throw new Error("only the tokenizer `word` is read here");
    this.ids = new Map(Object.entries(json.model.vocab));
    for (const token of json.added_tokens) this.ids.set(token.content, token.id);
    this.tokens = [];
    for (const [word, id] of this.ids) this.tokens[id] = word;
    this.unknown = this.ids.get(json.model.unk_token);
    this.start = this.ids.get("<s>");
    this.end = this.ids.get("</s>");
  }
  encode(text) {
    const words = text.split(WHITE_SPACE).filter(Boolean);
    return [this.start, ...words.map((word) => this.ids.get(word) ?? this.unknown)];
  }
}
