"use strict";
// Training of a recurrent network to remember the first word of a text:  cow so then and now so  →  cow.
// The first word is an animal, the others are drawn from the fillers; only the last position has a loss.

const ANIMALS = ["cat", "dog", "cow", "hen"];
const RECALL_WORDS = [...ANIMALS, "and", "so", "then", "now"];
/** What a training starts from, where the reader changes nothing. */
const RECALL_DEFAULTS = {
  length: 20,
  scale: 1,
  forgetBias: 4,
  clip: 1,
  seed: 1,
  size: 16,
  batch: 8,
  rate: 0.02,
  steps: 200,
};

/** `count` numbers, each equally likely between -limit and limit. */
const uniformNumbers = (count, limit, random) => Float64Array.from({ length: count }, () => (2 * random() - 1) * limit);

/** Back through y = V x: adds ∂y xᵀ to ∂V, and Vᵀ ∂y to ∂x. */
function backThroughMatrix(V, dy, x, dV, dx) {
  const n = x.length;
  for (let row = 0, at = 0; row < dy.length; row++) {
    const d = dy[row];
    for (let j = 0; j < n; j++, at++) {
      dV[at] += d * x[j];
      dx[j] += d * V[at];
    }
  }
}

/** The loss of a text, -ln softmax(O h_T + e)[answer], and the logarithms: {loss, logProbs, states}. */
function recallLoss(model, { text, answer }) {
  const states = model.read(text);
  const logProbs = logSoftmax(linear(model.weights.O, states.h.at(-1), model.weights.e));
  return { loss: -logProbs[answer], logProbs, states };
}

/** The loss and the way back: {loss, logProbs, back}, with ∂L/∂h_t in back.h[t], times `share`; adds to `gradients`. */
function recallGradients(model, example, gradients, share = 1) {
  const { loss, logProbs, states } = recallLoss(model, example);
  const output = logProbs.map((value, word) => share * (Math.exp(value) - (word === example.answer))); // ∂o
  const atEnd = new Float64Array(model.size);
  backThroughMatrix(model.weights.O, output, states.h.at(-1), gradients.O, atEnd);
  output.forEach((value, word) => {
    gradients.e[word] += value;
  });
  return { loss, logProbs, back: model.goBack(example.text, states, atEnd, gradients) };
}

/** A text of `length` words and its answer, as numbers of RECALL_WORDS: {text, answer}. */
function drawRecall(length, random) {
  const answer = Math.floor(random() * ANIMALS.length);
  const filler = () => ANIMALS.length + Math.floor(random() * (RECALL_WORDS.length - ANIMALS.length));
  return { answer, text: Array.from({ length }, (_, t) => (t ? filler() : answer)) };
}

/** `count` texts of a length, always the same ones; training draws others. */
function recallTexts(length, count) {
  const random = randomNumbers(2024);
  return Array.from({ length: count }, () => drawRecall(length, random));
}

/** The training of one network; two of them with one seed see the same texts in the same order. */
class RecallTraining {
  /** `makeModel` is called as new makeModel(words, size, random, settings); `settings` as RECALL_DEFAULTS. */
  constructor(makeModel, settings) {
    this.settings = settings;
    this.model = new makeModel(RECALL_WORDS.length, settings.size, randomNumbers(settings.seed), settings);
    this.optimiser = new Adam(this.model.weights, settings.rate);
    this.random = randomNumbers(settings.seed + 1000);
    this.clipped = 0;
    this.largest = 0;
  }
  /** One step on a batch: {loss, right, norm}; `right` is the share of right answers, `norm` is |g| before clipping. */
  step() {
    const { length, batch, clip } = this.settings;
    const gradients = zerosLike(this.model.weights);
    let loss = 0;
    let right = 0;
    for (let k = 0; k < batch; k++) {
      const example = drawRecall(length, this.random);
      const result = recallGradients(this.model, example, gradients, 1 / batch);
      loss += result.loss / batch;
      right += (indexOfLargest(result.logProbs) === example.answer) / batch;
    }
    const norm = clipGradients(gradients, clip);
    this.clipped += norm > clip;
    this.largest = Math.max(this.largest, norm);
    this.optimiser.update(gradients);
    return { loss, right, norm };
  }
  /** The share of right answers on texts. */
  accuracy(texts) {
    return texts.filter((one) => indexOfLargest(recallLoss(this.model, one).logProbs) === one.answer).length / texts.length;
  }
  /** The mean over texts of |∂L/∂h_t|, and of |∂L/∂c_t| in an LSTM, for the words t = 1 ... T: {h, c}. */
  gradientNorms(texts) {
    const unused = zerosLike(this.model.weights);
    const sums = {};
    for (const example of texts) {
      const { back } = recallGradients(this.model, example, unused);
      for (const [name, vectors] of Object.entries(back)) {
        sums[name] ??= new Float64Array(vectors.length - 1);
        for (let t = 1; t < vectors.length; t++) sums[name][t - 1] += Math.hypot(...vectors[t]) / texts.length;
      }
    }
    return sums;
  }
}
