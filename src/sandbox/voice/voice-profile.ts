import { UnreadableAudioError } from '../../audio/index.js';
import { decodeMono, probe } from '../../audio/child-index.js';
import { median, pitchOf } from '../sound/pitch.js';
import type { VoiceProfile } from './voices.js';

/** Seconds of a sample that are analysed. */
const MAX_SECONDS = 30;
const FRAME_SECONDS = 0.04;
/** The pitch in Hz if nothing is voiced (a whisper). */
const USUAL_PITCH = 140;

/**
 * Measures a speaker in a sample: mean pitch, and the pace where its words are known.
 * @throws UnreadableAudioError
 */
export async function voiceProfileOf(bytes: Uint8Array, transcript: string | null): Promise<VoiceProfile> {
  const probed = await probe(bytes);
  const { pcm, sampleRate } = await decodeMono(bytes, probed, MAX_SECONDS);
  const size = Math.round(sampleRate * FRAME_SECONDS);
  if (pcm.length < size) throw new UnreadableAudioError('too short');
  const pitches: number[] = [];
  let loudest = 0;
  const levels: number[] = [];
  for (let at = 0; at + size <= pcm.length; at += size) {
    const frame = pcm.subarray(at, at + size);
    let energy = 0;
    for (const sample of frame) energy += sample * sample;
    levels.push(energy / size);
    loudest = Math.max(loudest, energy / size);
    const pitch = pitchOf(thinned(frame, sampleRate), rateOf(sampleRate));
    if (pitch !== null) pitches.push(pitch);
  }
  const spoken = levels.filter((level) => level > loudest / 400).length * FRAME_SECONDS;
  const characters = transcript === null ? 0 : [...transcript.trim()].length;
  return {
    pitch: median(pitches) ?? USUAL_PITCH,
    charactersPerSecond: characters > 0 && spoken > 0.5 ? characters / spoken : null,
  };
}

/** Every so many samples are enough for a voice's pitch. */
function stepOf(sampleRate: number): number {
  return Math.max(1, Math.floor(sampleRate / 16_000));
}

function rateOf(sampleRate: number): number {
  return sampleRate / stepOf(sampleRate);
}

function thinned(frame: Float32Array, sampleRate: number): Float32Array {
  const step = stepOf(sampleRate);
  if (step === 1) return frame;
  return Float32Array.from({ length: Math.floor(frame.length / step) }, (_, index) => {
    let sum = 0;
    for (let at = 0; at < step; at++) sum += frame[index * step + at] ?? 0;
    return sum / step;
  });
}
