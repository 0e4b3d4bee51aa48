import type { PresetVoice, VoiceEngine } from './voice/voices.js';

/** Containers that speech is made in (contract 4.6); music takes the first two. */
export type AudioFormat = 'mp3' | 'wav' | 'opus' | 'aac';

/** What a file was found to be. */
export interface AudioFacts {
  /** As the content says it: `audio/mpeg`, `audio/wav`, `audio/mp4`, `audio/flac`, `audio/ogg`, `audio/webm`, `audio/aac`. */
  contentType: string;
  /** Of what a decoder makes of the first audio track, whatever its container says of itself. */
  durationSeconds: number;
  sampleRate: number;
  channels: number;
  /** Whether it was decoded: containers hold codecs that are not known here. */
  readable: boolean;
}

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

export interface ProbeTask {
  kind: 'probe';
  bytes: Uint8Array;
}

export interface ConvertTask {
  kind: 'convert';
  bytes: Uint8Array;
  format: AudioFormat;
}

export interface TranscribeTask {
  kind: 'transcribe';
  bytes: Uint8Array;
  /** As the caller names it; null: heard. */
  language: string | null;
  /** Speakers are told apart. */
  diarization: boolean;
  /** English text. */
  translation: boolean;
  /** What the caller's organisation had spoken, newest first. */
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
  /** `SPEAKER_00` … where speakers were told apart. */
  speaker: string | null;
  words: TranscriptWord[];
}

export interface Transcript {
  text: string;
  segments: TranscriptSegment[];
  /** Of what is said; `und` where it is not known. */
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

export type AudioTask = SpeakTask | ProbeTask | ConvertTask | TranscribeTask | ComposeTask;

export interface MadeAudio {
  bytes: Buffer;
  durationSeconds: number;
}

export interface MadeSpeech extends MadeAudio {
  /** By which it is known again: {@link TranscribeTask.known}. */
  print: Uint8Array;
}

/** No audio that can be read: unknown container or codec, broken, without samples, or longer than is worked on. */
export class UnreadableAudioError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableAudioError';
  }
}

export interface AudioOptions {
  signal?: AbortSignal | undefined;
  /** 0 to 100. */
  onProgress?: ((percent: number) => void) | undefined;
}

/** Work on sound, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Audio {
  /** Speaks with the sandbox's voice. @throws UnreadableAudioError for the reference */
  speak(task: Omit<SpeakTask, 'kind'>, options?: AudioOptions): Promise<MadeSpeech>;
  /** What a file is; decoded to its end, for at most four hours of sound. @throws UnreadableAudioError */
  probe(bytes: Uint8Array, options?: AudioOptions): Promise<AudioFacts>;
  /** A file in another format. @throws UnreadableAudioError */
  convert(bytes: Uint8Array, format: AudioFormat, options?: AudioOptions): Promise<MadeAudio>;
  /** Plays music for exactly so many seconds. @throws UnreadableAudioError for the source */
  compose(task: Omit<ComposeTask, 'kind'>, options?: AudioOptions): Promise<MadeAudio>;
  /** Listens to a recording. @throws UnreadableAudioError */
  transcribe(task: Omit<TranscribeTask, 'kind'>, options?: AudioOptions): Promise<Transcript>;
  close(): void;
}

/** A stretch of decoded sound, one array for each channel. */
export interface Decoded {
  channels: readonly Float32Array[];
  sampleRate: number;
}

/** What is remembered of a speech, so that it is known again whatever container, codec and tags it comes in. */
export interface KnownSpeech {
  text: string;
  /** Of the whole. */
  seconds: number;
  /** Loudness of its first half minute, a byte for each step of the envelope. */
  print: Uint8Array;
}
