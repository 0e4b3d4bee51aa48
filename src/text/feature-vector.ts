import { createHash } from 'node:crypto';

/** Only this many characters of a text are used. */
const MAX_CHARACTERS = 200_000;
const STOP_WORDS = new Set(
  'a an and are as at be by for from has have i in is it its of on or that the this to was were will with you your we our'.split(
    ' ',
  ),
);
const SUFFIX = /(?:ings?|edly|ed|ies|es|s|ly)$/;

/** FNV-1a: quick, and the same on every machine. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 12)) >>> 0;
}

function stem(word: string): string {
  const cut = word.length > 4 ? word.replace(SUFFIX, '') : word;
  return cut.length >= 3 ? cut : word;
}

/** Runs of scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]{2,}/gu;

/** Splits such a run into overlapping pairs of characters: most words of these scripts have two, and nothing marks the end of a word. */
function inPairs(run: string): string {
  const signs = [...run];
  return ` ${signs
    .slice(1)
    .map((sign, at) => `${signs[at]}${sign}`)
    .join(' ')} `;
}

/** Features of a text with their weights: stemmed words first, then word pairs, then letter groups for typos and inflections. */
function features(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (feature: string, weight: number): void => {
    counts.set(feature, (counts.get(feature) ?? 0) + weight);
  };
  const words =
    text
      .slice(0, MAX_CHARACTERS)
      .normalize('NFKC')
      .toLowerCase()
      .replace(UNSPACED, inPairs)
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  let previous = '';
  for (const word of words) {
    if (STOP_WORDS.has(word)) {
      add(`w:${word}`, 0.05);
      continue;
    }
    const base = stem(word);
    add(`w:${base}`, 1);
    if (previous !== '') add(`p:${previous} ${base}`, 0.4);
    previous = base;
    const padded = `^${word}$`;
    for (let at = 0; at + 4 <= padded.length; at++) add(`n:${padded.slice(at, at + 4)}`, 0.25);
  }
  return counts;
}

/** A unit vector of hashed features. Texts that share words are near each other; it does not represent meaning. */
export function featureVector(text: string, dimensions: number): number[] {
  const vector = new Float64Array(dimensions);
  for (const [feature, count] of features(text)) {
    const at = hash(feature);
    vector[at % dimensions] = (vector[at % dimensions] ?? 0) + (at & 0x8000_0000 ? 1 : -1) * Math.sqrt(count);
  }
  let length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (length === 0) {
    // A text without a word gets a place of its own.
    vector[createHash('sha256').update(text).digest().readUInt32LE(0) % dimensions] = 1;
    length = 1;
  }
  return Array.from(vector, (value) => value / length);
}
