"use strict";
// What comes next? (slides Y:88-134, R:164-291, R:627). The models of LIVE read along while the reader types.
//
// After the words before, a model gives each word w of its vocabulary a probability P(w). A word of the text with the
// probability P took -log2 P bits; the perplexity of the text is 2 to the mean of the bits.

const NEXT_WORD = { mostWords: 200, bars: 8, written: 10 };

/** The card of a model, or one with the reason why there is none. */
function nextWordCardOrReason(model, page) {
  try {
    return new NextWordCard(model, page);
  } catch (error) {
    const card = element(
      "section",
      { className: "live-card" },
      element("h2", { textContent: model.title }),
      element("p", { textContent: `Not computed: ${error.message}.` }),
    );
    return { root: card, largest: 0, read() {}, draw() {}, write() {}, rewrite() {}, summary: () => "" };
  }
}

/** The buttons of the examples, in a list; empty without examples. */
function nextWordExamples(page, examples) {
  if (!examples.length) return [];
  const show = (text) => {
    page.input.value = text;
    page.draw();
  };
  const buttons = examples.map((text) => button(text.trim() || "(no text)", () => show(text)));
  const group = { role: "group", "aria-label": "Examples", className: "next-word-examples" };
  return [element("div", group, element("span", { textContent: "Try:" }), ...buttons)];
}

/** The probability of a bar over the whole width, the same on all cards: the first that no bar exceeds. */
const nextWordScale = (largest) => [0.1, 0.2, 0.5].find((one) => largest <= one) ?? 1;

/** What the numbers and colours of the words say. */
function nextWordLegend() {
  const step = (bits, textContent = String(bits)) =>
    element("span", { className: "next-word-step", textContent, style: { background: heat(bits) } });
  const dotted = element("span", { className: "live-unknown", textContent: "dotted" });
  const legend = element("p", { className: "next-word-legend" }, "Under each word are its bits, −log₂ of its P(w): ");
  legend.append(step(0), step(3), step(6), step(9), step(12, "12 or more"), " (1 bit: 1 in 2; 10 bits: 1 in 1,024). ");
  legend.append("A ", dotted, " word is unknown to the model.");
  return legend;
}

/** Temperature, seed, and a button for all models. */
function nextWordSettings(page) {
  const rewrite = () => page.cards.forEach((card) => card.rewrite());
  const setTemperature = (value) => {
    page.temperature = value;
    rewrite();
  };
  const show = (value) => value.toFixed(1);
  const range = { min: 0.1, max: 2, step: 0.1, value: 1 };
  const temperature = slider({ label: "Temperature", ...range, show, onChange: setTemperature });
  const seed = labelled("Seed", element("input", { type: "number", min: 0, max: 9999, step: 1, value: 1 }));
  seed.input.addEventListener("input", () => {
    page.seed = Math.trunc(Number(seed.input.value)) || 0;
    rewrite();
  });
  const all = button(`All write ${NEXT_WORD.written} words`, () => page.cards.forEach((card) => card.write()));
  const group = { role: "group", "aria-label": "How words are drawn", className: "live-fields next-word-settings" };
  return element("div", group, temperature.box, seed.box, ...(page.cards.length > 1 ? [all] : []));
}

/** What temperature and seed do. */
function nextWordDrawing() {
  const text =
    "“Write” draws one word after another, in proportion to P(w)^(1/temperature): below 1 probable words become " +
    "more probable, above 1 all words become more alike. The same seed draws the same words again. Unknown words " +
    "are not drawn.";
  return softText(text);
}

/** The card of one model. Its elements stay; what they say changes. */
class NextWordCard {
  constructor({ title, seen, config, tensors, tokenizer }, page) {
    const kind = NEXT_WORD_KINDS[config.model_type];
    if (!kind) throw new Error(`the page has no code for the type ${config.model_type}`);
    const model = kind.make(readSafetensors(fromBase64(tensors)), config);
    this.title = title;
    this.page = page;
    this.tokenizer = new WordTokenizer(LIVE.tokenizers[tokenizer]);
    this.reader = new TextReader(model, this.tokenizer);
    this.inside = kind.inside(this.reader, config);
    const about = nextWordAbout(kind.memory(config), seen, this.tokenizer);
    this.problem = element("p", { hidden: true });
    this.answer = element("div", {}, ...this.parts());
    this.root = element("section", { className: "live-card next-word-card" });
    this.root.style.setProperty("--live-colour", `var(${kind.colour})`);
    this.root.append(
      element("h2", { textContent: title }),
      softText(about),
    );
    this.root.append(this.problem, this.answer);
  }

  /** The elements of the card, from the words to what is inside. */
  parts() {
    this.words = element("div", { className: "next-word-text" });
    this.pieces = [];
    this.measure = element("p", {});
    this.note = element("p", { className: "live-soft", hidden: true });
    this.heading = element("h3", {});
    this.scale = element("small", {});
    this.bars = Array.from({ length: NEXT_WORD.bars }, (_, i) => bar("", 0, () => this.append([this.shown[i]])));
    const label = `Write ${NEXT_WORD.written} words`;
    const write = button(label, () => this.write(), { "aria-label": `${label} with ${this.title}` });
    const add = () => {
      this.append(this.drawn);
      write.focus(); // this button is hidden until words are drawn again
    };
    this.take = button("Add them to the text", add, { hidden: true });
    this.written = element("p", { className: "next-word-written", hidden: true });
    const inside = element("details", { open: true }, element("summary", { textContent: "Inside" }), this.inside.box);
    const heads = element("div", { className: "next-word-heads" }, this.heading, this.scale);
    const buttons = element("div", { className: "next-word-write" }, write, this.take);
    return [this.words, this.measure, this.note, heads, ...this.bars, buttons, this.written, inside];
  }

  /** Reads a text; `largest` is then the highest probability of a bar. */
  read(text) {
    const { words, prefix, left } = typedWords(text, this.tokenizer, NEXT_WORD.mostWords);
    Object.assign(this, { prefix, left, reason: "", shown: [], probabilities: [], largest: 0 });
    try {
      this.reader.read(words);
      const { ids, share } = this.reader.best(NEXT_WORD.bars, prefix);
      this.shown = ids;
      this.share = share;
      this.probabilities = ids.map((id) => Math.exp(this.reader.logProbs[id]) / (prefix ? share : 1));
      this.largest = this.probabilities[0] ?? 0;
    } catch (error) {
      this.reason = `The model cannot read this text: ${error.message}.`;
    }
  }

  /** Shows what the model makes of the text, or why it makes nothing of it. */
  draw(scale) {
    this.problem.textContent = this.reason;
    this.problem.hidden = !this.reason;
    this.answer.hidden = Boolean(this.reason);
    if (this.reason) return;
    this.clearWritten();
    this.drawText(this.left + this.reader.left);
    this.drawBars(scale);
    const key = `${this.reader.ids.join(" ")}/${this.shown.join(" ")}`;
    if (key !== this.insideKey) this.inside.draw(this.shown);
    this.insideKey = key;
  }

  drawText(left) {
    const { pieces, perplexity } = this.reader;
    let same = 0;
    const isSame = (one, other) => one && other && one.text === other.text && one.bits === other.bits;
    while (isSame(pieces[same], this.pieces[same])) same++;
    [...this.words.children].slice(same).forEach((node) => node.remove());       // those before stay, which is faster
    this.words.append(...pieces.slice(same).map(nextWordPiece));
    if (this.prefix) this.words.append(element("span", { className: "live-word", textContent: `${this.prefix}…` }));
    this.pieces = pieces;
    const which = pieces.length === 1 ? "this word" : `these ${pieces.length} words`;
    const meaning = "as uncertain as among so many equally probable words";
    const measured = `Perplexity of ${which}: ${nextWordNumber(perplexity)}, ${meaning}.`;
    this.measure.textContent = pieces.length ? measured : "";
    this.note.hidden = !left;
    this.note.textContent = `Only the first ${pieces.length} words are read; the last ${left} are left out.`;
  }

  drawBars(scale) {
    const { prefix, shown } = this;
    const found = shown.length
      ? `Words with “${prefix}” (${percent(this.share)} of all)`
      : `No word begins with “${prefix}”`;
    this.heading.textContent = prefix ? found : "Next word";
    this.scale.textContent = shown.length ? `Full width: ${100 * scale} %` : "";
    this.bars.forEach((one, i) => {
      one.hidden = i >= shown.length;
      if (one.hidden) return;
      const word = nextWordShown(this.tokenizer.tokens[shown[i]]);
      const [name, track, value] = one.children;
      name.textContent = word;
      track.firstChild.style.width = `${(100 * this.probabilities[i]) / scale}%`;
      value.textContent = percent(this.probabilities[i]);
      one.title = this.appendable(shown[i]) ? `Add “${word}” to the text` : word;
      one.setAttribute("aria-disabled", String(!this.appendable(shown[i])));
    });
  }

  /** True for an ordinary word, which can be added to the text. */
  appendable(id) {
    return id !== this.tokenizer.unknown && !this.tokenizer.added.has(id);
  }

  /** Adds words to the reader's text, in the place of an unfinished one. */
  append(ids) {
    const words = ids.filter((id) => this.appendable(id)).map((id) => this.tokenizer.tokens[id]);
    if (!words.length) return;
    const { input } = this.page;
    const kept = this.prefix ? input.value.slice(0, -this.prefix.length) : input.value;
    const joint = this.prefix || !kept || WHITE_SPACE.test(kept.at(-1)) ? "" : " ";
    input.value = `${kept}${joint}${words.join(" ")} `;
    this.page.draw();
  }

  /** Draws a continuation, and shows it. */
  write() {
    if (this.reason) return;
    const { temperature, seed } = this.page;
    this.drawn = this.reader.write({ number: NEXT_WORD.written, prefix: this.prefix, temperature, seed });
    const words = this.drawn.map((id) => nextWordShown(this.tokenizer.tokens[id]));
    this.written.replaceChildren(
      element("span", { className: "live-soft", textContent: "… " }),
      words.join(" ") || "No word can be drawn.",
    );
    this.written.hidden = false;
    this.take.hidden = !this.drawn.some((id) => this.appendable(id));
  }

  /** Draws again with other settings, where a continuation is shown. */
  rewrite() {
    if (!this.written.hidden) this.write();
  }

  clearWritten() {
    this.written.hidden = true;
    this.take.hidden = true;
  }

  /** "Trigram: “king” 12 %", for the summary; "" where no word is shown. */
  summary() {
    if (!this.shown.length) return "";
    const word = nextWordShown(this.tokenizer.tokens[this.shown[0]]);
    return `${this.title}: “${word}” ${percent(this.probabilities[0])}`;
  }
}

/** What a model remembers, knows and has seen, in one line. */
function nextWordAbout(memory, seen, { tokens, added, unknown }) {
  const words = tokens.filter((_, id) => id !== unknown && !added.has(id)).length;
  const known = `knows ${NEXT_WORD_NUMBERS.format(words)} words`;
  return `${[memory, known, seen && `has seen ${seen}`].filter(Boolean).join(" · ")}.`;
}

/** A word of the reader's text with its bits. */
function nextWordPiece({ text, bits, known }) {
  const shown = bits === Infinity ? "∞" : bits.toFixed(1);
  const title = `${shown} bits: 1 in ${nextWordNumber(2 ** bits)}${known ? "" : "; unknown to the model"}`;
  const word = element("span", { className: known ? "" : "live-unknown", textContent: text });
  const number = element("small", { textContent: known ? shown : `? ${shown}` });
  const style = { background: heat(bits) };
  return element("span", { className: "live-word next-word-piece", title, style }, word, number);
}

const NEXT_WORD_KINDS = {
  lecture_ngram: {
    colour: "--live-a",
    make: (tensors, config) => new NGram(tensors, config),
    inside: (reader, config) => new NextWordBackOff(reader, config),
    memory: ({ order }) =>
      ["Remembers nothing", "Remembers the last word"][order - 1] ?? `Remembers the last ${order - 1} words`,
  },
  lecture_recurrent: {
    colour: "--live-b",
    make: (tensors, config) => new LSTM(tensors, config),
    inside: (reader, config) => new NextWordCells(reader, config),
    memory: (config) => `Carries ${2 * config.hidden_size * config.num_hidden_layers} numbers from word to word`,
  },
  lecture_self_attention: {
    colour: "--live-c",
    make: (tensors, config) => new SelfAttention(tensors, config),
    inside: (reader, config) => new NextWordMap(reader, config),
    memory: (config) =>
      `Looks back at all words, with ${config.num_hidden_layers} × ${config.num_attention_heads} heads`,
  },
};

/**
 * A list of the texts that models were trained on, in an array; empty where there is one. The weights of another text are
 * a script beside that of the first; once it has set LIVE, the page begins anew, with the reader's own text.
 */
function nextWordTexts(page) {
  if (!LIVE.texts?.length) return [];
  const weights = document.querySelector(`script[src$="/weights/${LIVE.file}"]`);
  const load = (file) => {
    const isExample = LIVE.examples.includes(page.input.value);
    const restart = () => {
      startNextWord(isExample ? undefined : page.input.value);
      document.querySelector("[data-live=next_word] select").focus();
    };
    weights.after(element("script", { src: new URL(file, weights.src).href, onload: restart }));
  };
  const options = LIVE.texts.map(({ title, file }) => [file, title]);
  return [choice({ label: "The models have read", options, value: LIVE.file, onChange: load }).box];
}

/** Starts the page with the models of LIVE; without a text, with the first example. */
const startNextWord = (text) => startLivePage("next_word", (root) => nextWordPage(root, text));

function nextWordPage(root, text = LIVE.examples?.[0] ?? "") {
  const box = labelled("Your text", element("textarea", { rows: 2, spellcheck: false, value: text }));
  box.box.classList.add("next-word-box");
  const page = { input: box.input, temperature: 1, seed: 1 };
  const said = element("p", { role: "status", className: "next-word-said" });
  page.cards = LIVE.models.map((model) => nextWordCardOrReason(model, page));
  page.draw = () => {
    page.cards.forEach((card) => card.read(page.input.value));
    const scale = nextWordScale(Math.max(...page.cards.map((card) => card.largest)));
    page.cards.forEach((card) => card.draw(scale));
    said.textContent = page.cards
      .map((card) => card.summary())
      .filter(Boolean)
      .join(" · ");
  };
  page.input.addEventListener("input", page.draw);
  const above = [...nextWordTexts(page), box.box, ...nextWordExamples(page, LIVE.examples ?? [])];
  root.append(...above, said, nextWordLegend(), nextWordSettings(page));
  root.append(element("div", { className: "live-cards" }, ...page.cards.map((card) => card.root)), nextWordDrawing());
  if (LIVE.about) root.append(softText(LIVE.about));
  page.draw();
}

startNextWord();
