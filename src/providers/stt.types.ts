import type { OrderLog, Ordering } from './order.types.js';

/** What is stored of generated speech, so that a transcription recognises it in any container, with any codec and tags. */
export interface KnownSpeech {
  text: string;
  /** Length of the whole speech. */
  seconds: number;
  /** Loudness of its first half minute, a byte for each step of the envelope. */
  fingerprint: Uint8Array;
}

/** A transcription call, every option checked against the model's capabilities beforehand. */
export interface TranscriptionCall {
  audio: Uint8Array;
  /** As the content says it. */
  mediaType: string;
  durationSeconds: number;
  /** ISO code; null: the model finds out. */
  language: string | null;
  /** Times of words are wanted. */
  words: boolean;
  diarization: boolean;
  /** English text is wanted. */
  translation: boolean;
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  /** For models that {@link SttCapabilities.recognizes}. */
  known?: readonly KnownSpeech[];
  signal: AbortSignal;
  /** Where models whose work is ordered note their orders. */
  orders?: OrderLog;
  /** 0 to 100, from models that know it. */
  onProgress?: (percent: number) => void;
}

export interface TranscribedWord {
  word: string;
  start: number;
  end: number;
}

export interface TranscribedSegment {
  start: number;
  end: number;
  text: string;
  /** `SPEAKER_00` … where diarization was asked for. */
  speaker: string | null;
  /** Null where the model tells none. */
  words: TranscribedWord[] | null;
}

export interface Transcription {
  text: string;
  segments: TranscribedSegment[];
  /** Code of the language that is spoken; `und` where unknown. */
  language: string;
}

/** What a transcription model can do; a request for more is refused before it costs anything. */
export interface SttCapabilities {
  words: boolean;
  diarization: boolean;
  translation: boolean;
  /** It works in this server, on what is decoded here: recordings of other codecs are refused. Absent: no. */
  decodesHere?: boolean;
  /** Whether it recognises speech that was generated here. */
  recognizes?: boolean;
  /** Names that it knows in `model_inputs`. */
  modelInputs: readonly string[];
}

export interface SttModel extends Ordering {
  capabilities: SttCapabilities;
  /** @throws UpstreamError */
  transcribe(call: TranscriptionCall): Promise<Transcription>;
}
