import { resampleTo } from '../../audio/child-index.js';
import type { Samples } from '../../audio/index.js';
import { stretchTo } from '../sound/stretch.js';
import { runFlite } from './flite.js';
import { sentencesOf, toSpeakable } from './speakable.js';
import type { VoiceShape } from './voices.js';

export interface Utterance {
  text: string;
  shape: VoiceShape;
  /** 0.25 to 4; 2 takes half the time. */
  speed: number;
  /** Varies pitch and pace a little; null does not. */
  seed: number | null;
}

/** Peak of what is handed out. */
const PEAK = 0.89;
const SILENCE_SECONDS = 0.3;

/**
 * Speaks a text. Speed is exact: the length is that of the same text at speed 1, divided.
 * @param onProgress 0 to 100
 */
export async function speak(
  { text, shape, speed, seed }: Utterance,
  onProgress: (percent: number) => void,
): Promise<Samples> {
  const voice = seed === null ? shape : varied(shape, seed);
  const sentences = sentencesOf(toSpeakable(text));
  const parts: Float32Array[] = [];
  let sampleRate = 16_000;
  for (const [index, sentence] of sentences.entries()) {
    const said = await sayAt(sentence, voice, speed);
    sampleRate = said.sampleRate;
    parts.push(said.pcm);
    onProgress(((index + 1) / sentences.length) * 100);
  }
  if (parts.length === 0) parts.push(new Float32Array(Math.round((sampleRate * SILENCE_SECONDS) / speed)));
  return { pcm: levelled(joined(parts)), sampleRate };
}

async function sayAt(text: string, shape: VoiceShape, speed: number): Promise<Samples> {
  const usual = await say(text, shape, 1);
  if (speed === 1) return usual;
  const length = Math.round(usual.pcm.length / speed);
  const near = await say(text, shape, 1 / speed);
  return { ...near, pcm: stretchTo(near.pcm, length, near.sampleRate) };
}

/** Formants are moved by playing faster; pitch and pace are set against it beforehand. */
async function say(
  text: string,
  { voice, pitch, formants, pace }: VoiceShape,
  stretch: number,
): Promise<Samples> {
  const said = await runFlite({
    voice,
    text,
    stretch: round(stretch * pace * formants),
    pitch: round(pitch / formants),
  });
  if (formants === 1) return said;
  return { ...said, pcm: resampleTo(said.pcm, Math.round(said.pcm.length / formants)) };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** ± 4 % of pitch, ± 3 % of pace. */
function varied(shape: VoiceShape, seed: number): VoiceShape {
  const mixed = (salt: number) => {
    const wave = Math.sin((seed % 1_000_003) * 12.9898 + salt) * 43_758.5453;
    return wave - Math.floor(wave) - 0.5;
  };
  return { ...shape, pitch: shape.pitch * (1 + 0.08 * mixed(1)), pace: shape.pace * (1 + 0.06 * mixed(2)) };
}

export function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Brought to the same peak, so that voices are equally loud. */
export function levelled(pcm: Float32Array): Float32Array {
  let peak = 0;
  for (const sample of pcm) peak = Math.max(peak, Math.abs(sample));
  if (peak > 0) for (let at = 0; at < pcm.length; at++) pcm[at] = ((pcm[at] ?? 0) * PEAK) / peak;
  return pcm;
}
