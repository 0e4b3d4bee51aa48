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
  /** 0 to 100, from models that know it. */
  onProgress?: (percent: number) => void;
  /** Where models whose work is ordered note their orders. */
  orders?: OrderLog;
}

export interface MusicMade {
  bytes: Uint8Array;
  /** Where the engine knows it without what encoders add. */
  durationSeconds: number | null;
}

/** What a music model can do; a request for more is refused before it costs anything. */
export interface MusicCapabilities {
  textToMusic: boolean;
  audioToAudio: boolean;
  negativePrompt: boolean;
  /** Seconds: the ones that it makes, or between which it makes any; null: any of the contract. */
  durations: readonly number[] | { min: number; max: number } | null;
  /** It works in this server, on sources that are decoded here. Absent: no. */
  decodesHere?: boolean;
  /** Names that it knows in `model_inputs`. */
  modelInputs: readonly string[];
}

export interface MusicModel extends Ordering {
  capabilities: MusicCapabilities;
  /** @throws UpstreamError */
  generate(call: MusicCall): Promise<MusicMade>;
}
