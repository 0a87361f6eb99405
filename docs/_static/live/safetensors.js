"use strict";
// Reads model.safetensors: 8 bytes with the header's length, the header as JSON, then the numbers.

/**
 * The tensors of a file: {name: {shape, data}}. Integers of 64 bits become float64, which is exact up to 2^53.
 * Throws an error for a type of numbers that this file does not know.
 */
function readSafetensors(buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  delete header.__metadata__;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
    if (!(dtype in NUMBERS)) throw new Error(`${name}: numbers of type ${dtype} are not read here`);
    tensors[name] = { shape, data: NUMBERS[dtype](buffer.slice(start + from, start + to)) };
  }
  return tensors;
}

const NUMBERS = {
  F64: (bytes) => new Float64Array(bytes),
  F32: (bytes) => new Float32Array(bytes),
  F16: (bytes) => fromHalves(new Uint16Array(bytes)),
  I64: (bytes) => Float64Array.from(new BigInt64Array(bytes), Number),
  I32: (bytes) => new Int32Array(bytes),
  U8: (bytes) => new Uint8Array(bytes),
};

/** A number of 16 bits: sign, 5 bits of exponent, 10 of fraction. */
function fromHalf(code) {
  const sign = code & 0x8000 ? -1 : 1;
  const exponent = (code >> 10) & 31;
  const fraction = code & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}

let halves = null;
/** Numbers of 16 bits as float32, from a table of all 2^16, which is made once. */
function fromHalves(codes) {
  const table = (halves ??= Float32Array.from({ length: 2 ** 16 }, (_, code) => fromHalf(code)));
  const numbers = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i++) numbers[i] = table[codes[i]];
  return numbers;
}

/** The bytes of a text in base64. */
function fromBase64(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes.buffer;
}
