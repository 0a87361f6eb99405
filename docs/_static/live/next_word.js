"use strict";
// What comes next? The models of LIVE read along while the reader types.

const LIVE_KINDS = {
  lecture_ngram: { make: (tensors, config) => new NGram(tensors, config), colour: "--live-a" },
  lecture_recurrent: { make: (tensors, config) => new LSTM(tensors, config), colour: "--live-b" },
  lecture_self_attention: { make: (tensors, config) => new SelfAttention(tensors, config), colour: "--live-c" },
};

startLivePage("next_word", (root) => {
  const readers = LIVE.models.map(({ title, seen, config, tensors, tokenizer }) => {
    const kind = LIVE_KINDS[config.model_type];
    if (!kind) throw new Error(`${title}: a model of the type ${config.model_type} does not run here`);
    return { title, seen, colour: kind.colour, model: kind.make(readSafetensors(fromBase64(tensors)), config), tokenizer: readTokenizer(LIVE.tokenizers[tokenizer]) };
  });
  const box = labelled("Your text", element("textarea", { rows: 2, spellcheck: false, value: LIVE.example ?? "" }));
  const cards = element("div", { className: "live-cards" });
  root.append(box.box, cards);
  const draw = () => cards.replaceChildren(...readers.map((reader) => drawCard(reader, box.input.value)));
  box.input.addEventListener("input", draw);
  draw();
});

function drawCard({ title, seen, colour, model, tokenizer }, text) {
  let state = model.start();
  for (const id of tokenizer.encode(text)) state = model.next(state, id);
  const logProbs = model.logProbs(state);
  const best = [...logProbs.keys()].sort((a, b) => logProbs[b] - logProbs[a]).slice(0, 8);
  return element("section", { className: "live-card", style: { "--live-colour": `var(${colour})` } },
    element("h2", { textContent: title }), element("small", { textContent: seen }),
    ...best.map((word) => bar(tokenizer.tokens[word], Math.exp(logProbs[word]))));
}
