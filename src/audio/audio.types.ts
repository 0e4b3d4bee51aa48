import type { PresetVoice } from './voice/voices.js';

/** Containers that speech is made in (contract 4.6); music takes the first two. */
export type AudioFormat = 'mp3' | 'wav' | 'opus' | 'aac';

/** What a file was found to be. */
export interface AudioFacts {
  /** As the content says it: `audio/mpeg`, `audio/wav`, `audio/mp4`, `audio/flac`, `audio/ogg`, `audio/webm`, `audio/aac`. */
  contentType: string;
  /** Of the first audio track, by its packets. */
  durationSeconds: number;
  sampleRate: number;
  channels: number;
}

export interface SpeakTask {
  kind: 'speak';
  text: string;
  voice: PresetVoice | null;
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

export type AudioTask = SpeakTask | ProbeTask | ConvertTask;

export interface MadeAudio {
  bytes: Buffer;
  durationSeconds: number;
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
  speak(task: Omit<SpeakTask, 'kind'>, options?: AudioOptions): Promise<MadeAudio>;
  /** What a file is, from its packets, without decoding it. @throws UnreadableAudioError */
  probe(bytes: Uint8Array, options?: AudioOptions): Promise<AudioFacts>;
  /** A file in another format. @throws UnreadableAudioError */
  convert(bytes: Uint8Array, format: AudioFormat, options?: AudioOptions): Promise<MadeAudio>;
  close(): void;
}
