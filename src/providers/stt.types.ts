import type { TranscriptPart } from '../contract/live.js';
import type { TokenClasses } from '../pricing/pricing.types.js';
import type { OrderLog, Ordering } from './order.types.js';

/** The stored fingerprint of generated speech, so that a transcription recognises it in any container, with any codec and tags. */
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
  /** Detected from the content. */
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
  /** For models with {@link SttCapabilities.recognizes}. */
  known?: readonly KnownSpeech[];
  signal: AbortSignal;
  /** Stores orders, for models whose work is ordered and polled. */
  orders?: OrderLog;
  /** 0 to 100, from models that report progress. */
  onProgress?: (percent: number) => void;
  /** Gets what is heard as it comes, from models that tell it. All of it is in the result too. */
  onTranscriptPart?: (part: TranscriptPart) => void;
  /** Whether logprobs of the streamed text are wanted. */
  logprobs?: boolean;
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
  /** Null if the model reports none. */
  words: TranscribedWord[] | null;
}

export interface Transcription {
  text: string;
  segments: TranscribedSegment[];
  /** Code of the language that is spoken; `und` where unknown. */
  language: string;
  /** As the upstream reported them, if it charges for tokens. */
  tokens?: TokenClasses | null;
}

/** What a transcription model supports; a request for anything else is refused before it costs anything. */
export interface SttCapabilities {
  words: boolean;
  diarization: boolean;
  translation: boolean;
  /** Whether it runs in this server and needs decoded audio: recordings with other codecs are refused. Absent: no. */
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
