import { UnreadableAudioError } from '../audio.types.js';
import { BitReader } from './bit-reader.js';
import { ELEMENT, skipElement } from './elements.js';

/** What a file tells of its Apple Lossless sound, once for all packets. */
export interface AlacConfig {
  /** Samples of a whole packet. */
  frameLength: number;
  bitDepth: number;
  /** How the residuals' code adapts: its rate, where its mean begins, the longest remainder in bits. */
  rate: number;
  mean: number;
  longest: number;
  sampleRate: number;
}

/** So many ones in a row say that the number follows as it is. */
const MAX_PREFIX = 9;
/** Means are kept in 512ths. */
const UNIT = 512;
const MAX_RUN = 65_535;
/** An order that says: each sample is told as its difference from the one before. */
const DIFFERENCES = 31;

/** A number of the adaptive code: ones and a zero, then `size` bits less one, or one more where those say so; `whole` bits where it is long. */
function readNumber(bits: BitReader, size: number, whole: number): number {
  const prefix = Math.clz32(~(bits.peek(MAX_PREFIX) << (32 - MAX_PREFIX)));
  if (prefix >= MAX_PREFIX) {
    bits.advance(MAX_PREFIX);
    return bits.read(whole);
  }
  bits.advance(prefix + 1);
  const rest = bits.peek(size);
  bits.advance(rest < 2 ? size - 1 : size);
  return prefix * (2 ** size - 1) + (rest < 2 ? 0 : rest - 1);
}

interface Predictor {
  mode: number;
  shift: number;
  rateFactor: number;
  coefficients: Int16Array;
}

function readPredictor(bits: BitReader): Predictor {
  const [mode, shift] = [bits.read(4), bits.read(4)];
  const [rateFactor, order] = [bits.read(3), bits.read(5)];
  return { mode, shift, rateFactor, coefficients: Int16Array.from({ length: order }, () => bits.signed(16)) };
}

/** What the predictor missed by, sample by sample. Runs of nothing are told by their length. */
function readResiduals(
  bits: BitReader,
  config: AlacConfig,
  given: { rate: number; count: number; width: number },
) {
  const { rate, count, width } = given;
  const residuals = new Int32Array(count);
  let mean = config.mean;
  let afterRun = 0;
  for (let at = 0; at < count;) {
    const size = Math.min(31 - Math.clz32(Math.floor(mean / UNIT) + 3), config.longest);
    const number = readNumber(bits, size, width) + afterRun;
    residuals[at++] = number % 2 === 0 ? number / 2 : -(number + 1) / 2;
    mean = number > MAX_RUN ? MAX_RUN : rate * number + mean - Math.floor((rate * mean) / UNIT);
    afterRun = 0;
    if (mean * 4 >= UNIT || at >= count) continue;
    const runSize = Math.min(Math.clz32(mean) - 24 + ((mean + 16) >> 6), config.longest);
    const run = readNumber(bits, runSize, 16);
    if (run > count - at) throw new RangeError('a run beyond the end');
    at += run;
    afterRun = run < MAX_RUN ? 1 : 0;
    mean = 0;
  }
  return residuals;
}

/** Turns residuals into samples in their place; the coefficients learn from each sample's sign. `width`: bits that a sample has. */
function predict(samples: Int32Array, { coefficients, shift }: Predictor, width: number): void {
  const order = coefficients.length;
  const unused = 32 - width;
  const cut = (value: number): number => (value << unused) >> unused;
  const direct = order === DIFFERENCES ? samples.length - 1 : order;
  for (let at = 1; at <= direct && at < samples.length; at++)
    samples[at] = order === 0 ? samples[at]! : cut(samples[at]! + samples[at - 1]!);
  if (order === 0 || order === DIFFERENCES) return;
  const half = shift === 0 ? 0 : 1 << (shift - 1);
  for (let at = order + 1; at < samples.length; at++) {
    const base = samples[at - order - 1]!;
    let sum = half;
    for (let k = 0; k < order; k++)
      sum = (sum + Math.imul(coefficients[k]!, samples[at - 1 - k]! - base)) | 0;
    const residual = samples[at]!;
    samples[at] = cut(residual + base + (sum >> shift));
    learn(coefficients, { samples, at, base, residual, shift });
  }
}

function learn(
  coefficients: Int16Array,
  of: { samples: Int32Array; at: number; base: number; residual: number; shift: number },
): void {
  const { samples, at, base, residual, shift } = of;
  const direction = Math.sign(residual);
  let left = residual;
  for (let k = coefficients.length - 1; k >= 0 && left * direction > 0; k--) {
    const difference = base - samples[at - 1 - k]!;
    const sign = Math.sign(difference) * direction;
    coefficients[k] = coefficients[k]! - sign;
    left -= (coefficients.length - k) * ((sign * difference) >> shift);
  }
}

interface Element {
  channels: number;
  count: number;
  /** Low bits of each sample that are told beside the code. */
  shifted: number;
}

function readPlain(bits: BitReader, { channels, count }: Element, bitDepth: number): Int32Array[] {
  const out = Array.from({ length: channels }, () => new Int32Array(count));
  for (let at = 0; at < count; at++) for (const channel of out) channel[at] = bits.signed(bitDepth);
  return out;
}

function readCoded(bits: BitReader, config: AlacConfig, { channels, count, shifted }: Element): Int32Array[] {
  const width = config.bitDepth - shifted + channels - 1;
  if (width < 1 || width > 32) throw new RangeError('samples of no known size');
  const mixShift = bits.read(8);
  const mix = bits.signed(8);
  const predictors = Array.from({ length: channels }, () => readPredictor(bits));
  const low = bits.fork();
  bits.advance(shifted * channels * count);
  const out = predictors.map((predictor) => {
    const rate = Math.floor((config.rate * predictor.rateFactor) / 4);
    const samples = readResiduals(bits, config, { rate, count, width });
    const differences = { ...predictor, coefficients: new Int16Array(DIFFERENCES) };
    if (predictor.mode !== 0) predict(samples, differences, width);
    predict(samples, predictor, width);
    return samples;
  });
  const [left, right] = out;
  if (left !== undefined && right !== undefined && mix !== 0) unmix(left, right, { mix, mixShift });
  if (shifted > 0)
    for (let at = 0; at < count; at++)
      for (const channel of out) channel[at] = (channel[at]! << shifted) | low.read(shifted);
  return out;
}

/** A pair is told as a weighed middle and a difference. */
function unmix(
  left: Int32Array,
  right: Int32Array,
  { mix, mixShift }: { mix: number; mixShift: number },
): void {
  for (let at = 0; at < left.length; at++) {
    const difference = right[at]!;
    left[at] = left[at]! + difference - ((mix * difference) >> mixShift);
    right[at] = left[at]! - difference;
  }
}

function readElement(bits: BitReader, config: AlacConfig, channels: number): Int32Array[] {
  bits.advance(4 + 12);
  const partial = bits.read(1) === 1;
  const shifted = bits.read(2) * 8;
  const plain = bits.read(1) === 1;
  const count = partial ? bits.read(32) : config.frameLength;
  if (count > config.frameLength) throw new RangeError('more samples than a packet has');
  const element = { channels, count, shifted };
  return plain ? readPlain(bits, element, config.bitDepth) : readCoded(bits, config, element);
}

/**
 * One packet's channels, −1 to 1.
 * @throws RangeError for a broken packet
 * @throws UnreadableAudioError for elements that are not known
 */
export function decodeAlacFrame(packet: Uint8Array, config: AlacConfig): Float32Array[] {
  const bits = new BitReader(packet);
  const channels: Int32Array[] = [];
  for (;;) {
    const element = bits.read(3);
    if (element === ELEMENT.end) break;
    if (element === ELEMENT.single || element === ELEMENT.lowFrequency)
      channels.push(...readElement(bits, config, 1));
    else if (element === ELEMENT.pair) channels.push(...readElement(bits, config, 2));
    else if (element === ELEMENT.data || element === ELEMENT.fill) skipElement(bits, element, bits.read(4));
    else throw new UnreadableAudioError('ALAC of another form');
  }
  const scale = 2 ** (config.bitDepth - 1);
  return channels.map((samples) => Float32Array.from(samples, (sample) => sample / scale));
}
