import { decodeAudio, mixed } from '../../audio/child-index.js';
import type { Probed } from '../../audio/child-index.js';
import { pitchOf } from '../sound/pitch.js';

/** Seconds between two measurements of loudness. */
export const STEP_SECONDS = 0.02;
/** Steps between two measurements of pitch; each spans two steps. */
const PITCH_STEPS = 2;
const WORKING_RATE = 16_000;

/** The stored measurements of a recording: a few numbers for each step, however long it is. */
export interface Envelope {
  /** Root mean square of each step. */
  levels: number[];
  /** Hz at every second step; null if nothing is voiced; empty if pitch was not requested. */
  pitches: (number | null)[];
  /** The duration of the decoded sound. */
  seconds: number;
}

/** Reads a recording once from end to end, keeping only its envelope. @throws UnreadableAudioError */
export async function envelopeOf(
  bytes: Uint8Array,
  probed: Probed,
  options: { maxSeconds: number; pitch: boolean; onProgress(percent: number): void },
): Promise<Envelope> {
  const envelope: Envelope = { levels: [], pitches: [], seconds: 0 };
  let frame: Frame | undefined;
  for await (const piece of decodeAudio(bytes, probed, options.maxSeconds)) {
    frame ??= new Frame(piece.sampleRate, options.pitch, envelope);
    frame.take(mixed(piece));
    options.onProgress(
      Math.min(100, (envelope.seconds / Math.max(envelope.seconds, probed.claimedSeconds)) * 100),
    );
  }
  return envelope;
}

/** The loudness of samples that are at hand, as {@link envelopeOf} hears it in a recording of them. */
export function levelsOf(pcm: Float32Array, sampleRate: number): number[] {
  const envelope: Envelope = { levels: [], pitches: [], seconds: 0 };
  new Frame(sampleRate, false, envelope).take(pcm);
  return envelope.levels;
}

/** Collects samples, thinned to about 16 kHz, into steps. */
class Frame {
  private readonly thin: number;
  private readonly rate: number;
  private readonly samples: Float32Array;
  private filled = 0;
  private sum = 0;
  private summed = 0;
  private readonly window: Float32Array;

  constructor(
    private readonly sampleRate: number,
    private readonly pitch: boolean,
    private readonly envelope: Envelope,
  ) {
    this.thin = Math.max(1, Math.floor(sampleRate / WORKING_RATE));
    this.rate = sampleRate / this.thin;
    this.samples = new Float32Array(Math.max(1, Math.round(this.rate * STEP_SECONDS)));
    this.window = new Float32Array(this.samples.length * PITCH_STEPS);
  }

  take(pcm: Float32Array): void {
    for (const sample of pcm) {
      this.sum += sample;
      if (++this.summed < this.thin) continue;
      this.samples[this.filled++] = this.sum / this.thin;
      this.sum = 0;
      this.summed = 0;
      if (this.filled === this.samples.length) this.step();
    }
    this.envelope.seconds += pcm.length / this.sampleRate;
  }

  private step(): void {
    let energy = 0;
    for (const sample of this.samples) energy += sample * sample;
    const index = this.envelope.levels.push(Math.sqrt(energy / this.samples.length)) - 1;
    this.filled = 0;
    if (!this.pitch) return;
    const place = index % PITCH_STEPS;
    this.window.set(this.samples, place * this.samples.length);
    if (place === PITCH_STEPS - 1) this.envelope.pitches.push(pitchOf(this.window, this.rate));
  }
}

/** Pitches within a stretch of time. */
export function pitchesBetween({ pitches }: Envelope, start: number, end: number): number[] {
  const step = STEP_SECONDS * PITCH_STEPS;
  return pitches
    .slice(Math.floor(start / step), Math.ceil(end / step))
    .filter((pitch): pitch is number => pitch !== null);
}
