import type { OrderLog, Ordering } from './order.types.js';

/** A call for music, every option checked against the model's capabilities beforehand. */
export interface MusicCall {
  prompt: string;
  negativePrompt: string | null;
  durationSeconds: number;
  format: 'mp3' | 'wav';
  /** A recording to vary (`audio_to_audio`). */
  source: { bytes: Uint8Array; mediaType: string } | null;
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  signal: AbortSignal;
  /** 0 to 100, from models that report progress. */
  onProgress?: (percent: number) => void;
  /** Stores orders, for models whose work is ordered and polled. */
  orders?: OrderLog;
}

export interface MusicMade {
  bytes: Uint8Array;
  /** Set if the engine knows the duration without the encoder's padding. */
  durationSeconds: number | null;
}

/** What a music model supports; a request for anything else is refused before it costs anything. */
export interface MusicCapabilities {
  textToMusic: boolean;
  audioToAudio: boolean;
  negativePrompt: boolean;
  /** Supported durations in seconds, as a list or a range; null: all of the contract's. */
  durations: readonly number[] | { min: number; max: number } | null;
  /** Whether it runs in this server and needs sources decoded. Absent: no. */
  decodesHere?: boolean;
  /** Names that it knows in `model_inputs`. */
  modelInputs: readonly string[];
}

export interface MusicModel extends Ordering {
  capabilities: MusicCapabilities;
  /** @throws UpstreamError */
  generate(call: MusicCall): Promise<MusicMade>;
}
