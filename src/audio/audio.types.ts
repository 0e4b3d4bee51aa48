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

export type AudioTask =
  | { kind: 'probe'; bytes: Uint8Array }
  | { kind: 'convert'; bytes: Uint8Array; format: AudioFormat };

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
}

/** Reads and converts sound, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Audio {
  /** What a file is; decoded to its end, for at most four hours of sound. @throws UnreadableAudioError */
  probe(bytes: Uint8Array, options?: AudioOptions): Promise<AudioFacts>;
  /** A file in another format. @throws UnreadableAudioError */
  convert(bytes: Uint8Array, format: AudioFormat, options?: AudioOptions): Promise<MadeAudio>;
  close(): void;
}

/** A stretch of decoded sound, one array for each channel. */
export interface Decoded {
  channels: readonly Float32Array[];
  sampleRate: number;
}

/** Decoded sound in one channel. */
export interface Samples {
  /** Mono, −1 to 1. */
  pcm: Float32Array;
  sampleRate: number;
}
