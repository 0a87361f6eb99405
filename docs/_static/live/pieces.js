"use strict";
// Words to pieces: byte pairs learnt merge by merge on the reader's text, and a text cut in six ways.

const PIECES_TALE = `The old king had a young golden bird, and the bird was the wonder of the kingdom.
Each morning the bird sang, and each evening the king listened at the window.
One winter the bird stopped singing. The king asked the wise, the wiser and the wisest of his people.
The wisest said: a singing bird wants a listening friend. So the king opened the golden window,
and the other birds came in, singing and listening, and the young bird was singing again.`;
const PIECES_EXAMPLES = [
  { title: "The slides' five words", learn: "lower lowest newer wider wide", cut: "lowest newer wide", merges: 5 },
  { title: "A tale", learn: PIECES_TALE, cut: "The youngest bird was the oldest friend of the king.", merges: 25 },
  {
    title: "Endings",
    merges: 16,
    cut: "the baker walked to the stalking talker",
    learn: "walk walks walked walking walker talk talks talked talking talker bake bakes baked baking baker",
  },
  {
    title: "Two scripts",
    merges: 12,
    cut: "naïve café, καλή νύχτα, 서울 🙂",
    learn: "a naïve café and a café, naïve cafés καλημέρα καλησπέρα καλή μέρα καλή 서울 서울역 서울",
  },
];
const PIECES_MOST_MERGES = 300;
const PIECES_MOST_LETTERS = 12000;
const PIECES_MARK = "#";
const PIECES_BERT = {
  type: "BertNormalizer",
  clean_text: true,
  handle_chinese_chars: true,
  strip_accents: null,
  lowercase: true,
};

/** Words of at most 40 letters with their counts; `split` is a function of a text. */
const piecesWords = (text, split) => countStrings(split(text).filter((word) => word && Array.from(word).length <= 40));
/** The words of a text: between white space, as BERT splits them, and with the white space before them. */
const piecesAtSpaces = (text) => text.split(WHITE_SPACE).filter(Boolean);
const piecesOfBert = (text) => readSplitter({ type: "BertPreTokenizer" })(readNormalizer(PIECES_BERT)(text));
const piecesStretches = (text) => text.match(STRETCHES) ?? [];
/** A vocabulary, {piece: id}, without a piece twice. */
const piecesNumbered = (pieces) => Object.fromEntries([...new Set(pieces)].map((piece, id) => [piece, id]));

/** The pieces of a word-based method: `model.cut` of each word. */
const piecesCut = (words, model) =>
  words.flatMap((word) => model.cut(word)).map(({ text, id }) => ({ text, unknown: id === model.unknown }));

/**
 * The methods that are compared, each {title, about, size, cut(text)}; `cut` returns [{text, unknown}]. `learnt` has the
 * words of the text for each method, and as many pieces are learnt as there are merges.
 */
function piecesMethods(learnt, merges) {
  const words = new WholeWords({
    type: "WordLevel",
    vocab: piecesNumbered(["<unk>", ...learnt.words.keys()]),
    unk_token: "<unk>",
  });
  const letters = new Set(Array.from([...learnt.stretches.keys()].join("")));
  return [
    {
      title: "Words",
      about: "between white space; those that the text lacks are unknown",
      size: words.ids.size,
      cut: (text) => piecesCut(piecesAtSpaces(text), words),
    },
    piecesOfBytePairs(learnt, merges),
    piecesOfWordPiece(learnt, merges.length),
    piecesOfUnigram(learnt, merges.length),
    {
      title: "Characters",
      about: "white space among them; few, but the text is long",
      size: letters.size,
      cut: (text) => Array.from(text, (letter) => ({ text: letter, unknown: !letters.has(letter) })),
    },
    {
      title: "Bytes",
      about: "of UTF-8, in hexadecimal digits: nothing is unknown, in any script",
      size: 256,
      cut: (text) =>
        Array.from(text).flatMap((letter) =>
          Array.from(utf8(letter), (byte, at) => ({
            text: byte.toString(16).toUpperCase().padStart(2, "0"),
            of: letter,
            at,
          })),
        ),
    },
  ];
}
/** The method of byte pairs after these merges. */
function piecesOfBytePairs({ bytePairs }, merges) {
  const symbols = ["<unk>", ...bytePairs.letters, ...merges.map(({ left, right }) => left + right)];
  const model = new BytePairs({
    type: "BPE",
    vocab: piecesNumbered(symbols),
    merges: merges.map(({ left, right }) => [left, right]),
    unk_token: "<unk>",
    end_of_word_suffix: PIECES_MARK,
    byte_fallback: false,
    ignore_merges: false,
    dropout: null,
    continuing_subword_prefix: null,
    fuse_unk: false,
  });
  const about = `the merges so far; ${PIECES_MARK} ends a word`;
  return {
    title: "Byte pairs (BPE)",
    about,
    size: model.ids.size,
    cut: (text) => piecesCut(piecesAtSpaces(text), model),
  };
}
/** The method of WordPiece after so many merges. */
function piecesOfWordPiece({ bert }, number) {
  const model = new LongestPieces({
    type: "WordPiece",
    vocab: piecesNumbered(["[UNK]", ...learnWordPieces(bert, number)]),
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
  });
  const about = "the longest piece first; ## goes on with a word. As BERT does it: small letters, no accents";
  return { title: "WordPiece", about, size: model.ids.size, cut: (text) => piecesCut(piecesOfBert(text), model) };
}
/** The method of a unigram model with so many pieces beside the letters. */
function piecesOfUnigram({ stretches }, number) {
  const letters = new Set(Array.from([...stretches.keys()].join("")));
  const vocab = [["<unk>", -1000], ...learnUnigram(stretches, letters.size + number)];
  const model = new UnigramPieces({ type: "Unigram", vocab, unk_id: 0, byte_fallback: false });
  const about = "the most probable pieces; white space belongs to the word after it";
  return { title: "Unigram", about, size: model.ids.size, cut: (text) => piecesCut(piecesStretches(text), model) };
}

/** The page: `relearn` follows a change of the text, `mergeTo` shows so many merges, `showCuts` cuts the other text. */
class PiecesPage {
  constructor(root) {
    const first = PIECES_EXAMPLES[0];
    const examples = PIECES_EXAMPLES.map((one) => button(one.title, () => this.show(one)));
    this.learn = labelled(
      "Learn from this text: your own, if you like",
      element("textarea", { rows: 5, value: first.learn, spellcheck: false }),
    );
    this.learn.input.addEventListener("input", () => this.relearn(this.merges.length));
    root.append(
      element("div", { className: "live-fields", role: "group", "aria-label": "Examples" }, ...examples),
      this.learn.box,
      element("div", { className: "live-cards pieces-cards" }, this.mergeCard(), this.cutCard(first.cut)),
    );
    this.relearn(first.merges);
  }
  mergeCard() {
    this.slider = slider({
      label: "Merges",
      min: 0,
      max: PIECES_MOST_MERGES,
      value: 0,
      onChange: (number) => this.mergeTo(number),
    });
    this.fewer = button("one less", () => this.mergeTo(this.merges.length - 1));
    this.more = button("one more", () => this.mergeTo(this.merges.length + 1));
    this.said = element("p", { "aria-live": "polite", className: "pieces-said" });
    this.pairs = element("div", {});
    this.words = element("p", { className: "pieces-words" });
    this.list = element("p", { className: "pieces-merges" });
    const small = (text) => element("h3", { textContent: text });
    return element(
      "section",
      { className: "live-card" },
      element("h2", { textContent: "Byte pairs, merge by merge" }),
      element("div", { className: "live-fields" }, this.slider.box, this.fewer, this.more),
      this.said,
      small("Most frequent pairs now"),
      this.pairs,
      small("The words of the text now"),
      this.words,
      small("Last merges"),
      this.list,
    );
  }
  cutCard(text) {
    this.text = labelled(
      "Cut this text",
      element("input", { type: "text", value: text, spellcheck: false, autocomplete: "off" }),
    );
    this.text.box.classList.add("pieces-text");
    this.text.input.addEventListener("input", () => this.showCuts());
    this.cuts = element("div", {});
    this.summary = element("p", { "aria-live": "polite", className: "live-soft" });
    return element(
      "section",
      { className: "live-card", style: { "--live-colour": "var(--live-c)" } },
      element("h2", { textContent: "The same text, cut in six ways" }),
      this.text.box,
      this.summary,
      this.cuts,
    );
  }

  show({ learn, cut, merges }) {
    this.learn.input.value = learn;
    this.text.input.value = cut;
    this.relearn(merges);
  }
  /** Learns all merges of the text, and shows so many of them. */
  relearn(number) {
    const text = this.learn.input.value.slice(0, PIECES_MOST_LETTERS);
    const words = piecesWords(text, piecesAtSpaces);
    this.learnt = {
      words,
      stretches: piecesWords(text, piecesStretches),
      bert: piecesWords(text, piecesOfBert),
      bytePairs: new BytePairWords(words, PIECES_MARK),
    };
    this.all = this.learnt.bytePairs.learn(PIECES_MOST_MERGES);
    this.slider.input.max = this.all.length;
    this.mergeTo(number);
  }
  mergeTo(number) {
    this.merges = this.all.slice(0, Math.max(0, number));
    const { input } = this.slider;
    input.value = this.merges.length;
    this.slider.box.querySelector("output").textContent = `${this.merges.length} of ${this.all.length}`;
    input.setAttribute("aria-valuetext", `${this.merges.length} of ${this.all.length} merges`);
    this.fewer.setAttribute("aria-disabled", this.merges.length === 0);
    this.more.setAttribute("aria-disabled", this.merges.length === this.all.length);
    this.showMerges();
    this.methods = piecesMethods(this.learnt, this.merges);
    this.showCuts();
  }

  showMerges() {
    const rows = this.learnt.bytePairs.after(this.merges),
      last = this.merges.at(-1),
      next = this.all[this.merges.length];
    const spelled = ({ left, right }) => `${left} + ${right} → ${left + right}`;
    const times = (count) => `${count} time${count === 1 ? "" : "s"}`;
    this.said.textContent =
      (last
        ? `Merge ${this.merges.length}: ${spelled(last)}, ${times(last.count)} in the text. `
        : "Nothing is merged: each letter is a symbol. ") +
      (next
        ? `Next: ${spelled(next)}, ${times(next.count)}. Of equally frequent pairs, the first by its letters.`
        : "No pair is left.");
    this.pairs.replaceChildren(
      ...piecesFrequentPairs(rows, next).map(([name, count, most, isNext]) => piecesPairRow(name, count, most, isNext)),
    );
    const made = last ? last.left + last.right : null;
    this.words.replaceChildren(
      ...piecesGroups(rows.rows).flatMap(({ symbols, count }) => [piecesWordShown(symbols, count, made), " "]),
    );
    const recent = this.merges.slice(-12),
      before = this.merges.length - recent.length;
    this.list.replaceChildren(
      ...recent.flatMap((merge, at) => [
        element(
          "span",
          { className: merge === last ? "pieces-merge pieces-new" : "pieces-merge" },
          `${before + at + 1}. ${merge.left + merge.right}`,
        ),
        " ",
      ]),
    );
  }

  showCuts() {
    const text = this.text.input.value.slice(0, 2000),
      length = Array.from(text).length;
    const rows = this.methods.map((method) => ({ method, pieces: method.cut(text) }));
    this.cuts.replaceChildren(...rows.map(({ method, pieces }) => piecesRow(method, pieces, length)));
    const tokens = rows.map(({ method, pieces }) => `${method.title} ${pieces.length}`).join(", ");
    this.summary.textContent =
      `${length} characters make so many tokens: ${tokens}. ` +
      "WordPiece and unigram learn as many pieces from the text above as there are merges.";
  }
}

/** The five most frequent pairs, [name, count, largest count, whether it is next]; the next merge comes first. */
function piecesFrequentPairs(rows, next) {
  const pairs = [...rows.pairs.values()]
    .map((pair) => ({ ...pair, value: 0 }))
    .sort((a, b) => (isMergedBefore(a, b) ? -1 : 1));
  return pairs
    .slice(0, 5)
    .map(({ left, right, count }) => [
      `${left} ${right}`,
      count,
      pairs[0].count,
      left === next?.left && right === next?.right,
    ]);
}
/** A row with a pair, a bar for its count, and the count. */
function piecesPairRow(name, count, most, isNext) {
  return element(
    "div",
    { className: "live-bar" },
    element("span", { className: "live-bar-name", textContent: (isNext ? "▸ " : "") + name }),
    element(
      "span",
      { className: "live-bar-track" },
      element("span", { className: "live-bar-fill", style: { width: `${(100 * count) / most}%` } }),
    ),
    element("span", { className: "live-bar-value", textContent: `${count} ×` }),
  );
}

/** The 30 most frequent words as they are cut now. */
const piecesGroups = (rows) => [...rows].sort((a, b) => b.count - a.count).slice(0, 30);
/** A word with its symbols, among which the one just made is marked, and its count. */
function piecesWordShown(symbols, count, made) {
  const shown = symbols.map((symbol) =>
    element("span", { className: symbol === made ? "pieces-piece pieces-new" : "pieces-piece", textContent: symbol }),
  );
  return element(
    "span",
    { className: "pieces-word" },
    ...shown,
    ...(count > 1 ? [element("small", { textContent: `×${count}` })] : []),
  );
}

/** A method with its pieces, their number, and the characters per token. */
function piecesRow({ title, about, size }, pieces, length) {
  const unknown = pieces.filter((piece) => piece.unknown).length;
  const numbers =
    `${pieces.length} tokens · ${pieces.length ? (length / pieces.length).toFixed(1) : "–"} characters per token · ${size} in the vocabulary` +
    (unknown ? ` · ${unknown} unknown` : "");
  return element(
    "div",
    { className: "pieces-row" },
    element("h3", { textContent: title }),
    element("span", { className: "live-soft", textContent: numbers }),
    element("p", { className: "pieces-words" }, ...piecesShown(pieces).flatMap((one) => [one, " "])),
    element("small", { textContent: about }),
  );
}

/** The pieces as elements; the bytes of a letter stand together, under the letter. */
function piecesShown(pieces) {
  const visible = (text) => text.replace(/\s/gu, "␣");
  const shown = [];
  for (const { text, unknown, of, at } of pieces) {
    const piece = element("span", {
      className: unknown ? "pieces-piece pieces-unknown" : "pieces-piece",
      textContent: visible(text),
    });
    if (unknown) piece.append(element("small", { textContent: " unknown" }));
    if (of === undefined) shown.push(piece);
    else if (at === 0)
      shown.push(
        element(
          "span",
          { className: "pieces-letter" },
          element("small", { textContent: visible(of) }),
          element("span", {}, piece),
        ),
      );
    else shown.at(-1).lastChild.append(piece);
  }
  return shown;
}

startLivePage("pieces", (root) => new PiecesPage(root));
