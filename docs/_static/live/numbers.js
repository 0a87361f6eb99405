"use strict";
// What the models' files share: sums of products, the logarithm of a softmax, random numbers, a check of settings.

/** W x + b, with W (rows, columns) in one flat array; b may be left out. */
function linear(W, x, b) {
  const columns = x.length;
  const y = new Float64Array(W.length / columns);
  for (let row = 0, at = 0; row < y.length; row++) {
    let sum = b ? b[row] : 0;
    for (let column = 0; column < columns; column++) sum += W[at++] * x[column];
    y[row] = sum;
  }
  return y;
}

/** log softmax(x), as a new array; entries of -Infinity stay. */
function logSoftmax(x) {
  let largest = -Infinity;
  for (const value of x) largest = Math.max(largest, value);
  let sum = 0;
  for (const value of x) sum += Math.exp(value - largest);
  const shift = largest + Math.log(sum);
  return Float64Array.from(x, (value) => value - shift);
}

/** The place of the largest number; the first of equal ones. */
const indexOfLargest = (numbers) => numbers.reduce((best, value, at) => (value > numbers[best] ? at : best), 0);

/** Numbers in [0, 1) from a seed, the same in every browser (mulberry32: 32 bits of state). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Throws an error where a setting of a configuration is not one that a file computes; `wanted`: {name: [values]}. */
function requireSettings(config, wanted) {
  for (const [name, values] of Object.entries(wanted)) {
    const value = config[name] ?? null;
    if (values.includes(value)) continue;
    const allowed = values.map((one) => JSON.stringify(one)).join(" or ");
    throw new Error(`${config.model_type} with ${name} = ${JSON.stringify(value)} does not run here; ${allowed} does`);
  }
}
