import type { AudioFormat, MadeAudio } from '../../audio/index.js';
import type { KnownSpeech } from '../../providers/stt.types.js';
import type { PresetVoice, VoiceEngine } from '../voice/voices.js';

export interface SpeakTask {
  kind: 'speak';
  text: string;
  voice: PresetVoice | null;
  engine: VoiceEngine;
  /** A custom voice's sample; `voice` is then null. */
  reference: { bytes: Uint8Array; text: string | null } | null;
  /** 0.25 to 4. */
  speed: number;
  seed: number | null;
  format: AudioFormat;
}

export interface TranscribeTask {
  kind: 'transcribe';
  bytes: Uint8Array;
  /** As the caller names it; null: it is detected. */
  language: string | null;
  /** Whether speakers are distinguished. */
  diarization: boolean;
  /** Whether the text is translated into English. */
  translation: boolean;
  /** Speeches of the caller's organisation, newest first. */
  known: readonly KnownSpeech[];
  maxSeconds: number;
}

export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
}

export interface TranscriptSegment {
  start: number;
  end: number;
  text: string;
  /** `SPEAKER_00` and so on, if speakers are distinguished. */
  speaker: string | null;
  words: TranscriptWord[];
}

export interface Transcript {
  text: string;
  segments: TranscriptSegment[];
  /** The spoken language; `und` if unknown. */
  language: string;
  durationSeconds: number;
}

export interface ComposeTask {
  kind: 'compose';
  prompt: string;
  negativePrompt: string;
  /** Null: by the prompt alone. */
  seed: number | null;
  seconds: number;
  format: 'mp3' | 'wav';
  /** A recording to vary. */
  source: Uint8Array | null;
}

export type SoundTask = SpeakTask | TranscribeTask | ComposeTask;

export interface MadeSpeech extends MadeAudio {
  /** By which it is recognised: {@link TranscribeTask.known}. */
  fingerprint: Uint8Array;
}

export interface SoundOptions {
  signal?: AbortSignal | undefined;
  /** 0 to 100. */
  onProgress?: ((percent: number) => void) | undefined;
}

/** Speaks, plays and listens, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Sound {
  /** @throws UnreadableAudioError for the reference */
  speak(task: Omit<SpeakTask, 'kind'>, options?: SoundOptions): Promise<MadeSpeech>;
  /** Plays music for exactly so many seconds. @throws UnreadableAudioError for the source */
  compose(task: Omit<ComposeTask, 'kind'>, options?: SoundOptions): Promise<MadeAudio>;
  /** Listens to a recording. @throws UnreadableAudioError */
  transcribe(task: Omit<TranscribeTask, 'kind'>, options?: SoundOptions): Promise<Transcript>;
  close(): void;
}
