/** Containers that speech is made in (contract 4.6); music takes the first two. */
export type ContractFormat = 'mp3' | 'wav' | 'opus' | 'aac';

/** The same with those of /v1 (beyond 11.11); `pcm` is 24 kHz, 16 bit, mono, without a head. */
export type AudioFormat = ContractFormat | 'flac' | 'pcm';

/** Facts about a file, from its content. */
export interface AudioFacts {
  /** Detected from the content: `audio/mpeg`, `audio/wav`, `audio/mp4`, `audio/flac`, `audio/ogg`, `audio/webm`, `audio/aac`. */
  contentType: string;
  /** Length of the first audio track after decoding. The container's own value is not trusted. */
  durationSeconds: number;
  sampleRate: number;
  channels: number;
  /** Whether it can be decoded here. Containers may hold unknown codecs. */
  readable: boolean;
}

/** Facts about a file, and the file. */
export interface ProbedAudio extends AudioFacts {
  /** The given bytes; or the same sound in a new file, where headers or tables do not fit what is in it, so that every reader hears all of it. */
  bytes: Buffer;
}

/** What the process answers to `probe`; `repaired` is null for a file that is as it should be. */
export type ProbeReply = AudioFacts & { repaired: Uint8Array | null };

export type AudioTask =
  | { kind: 'probe'; bytes: Uint8Array }
  | { kind: 'convert'; bytes: Uint8Array; format: AudioFormat };

export interface MadeAudio {
  bytes: Buffer;
  durationSeconds: number;
}

/** The audio cannot be read: its container or codec is unknown, it is broken, it has no samples, or it is too long. */
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
  /** Reads facts about a file. It is decoded to its end, at most four hours of sound. @throws UnreadableAudioError */
  probe(bytes: Uint8Array, options?: AudioOptions): Promise<ProbedAudio>;
  /** Converts a file to another format. @throws UnreadableAudioError */
  convert(bytes: Uint8Array, format: AudioFormat, options?: AudioOptions): Promise<MadeAudio>;
  close(): void;
}

/** A piece of decoded sound, with one array for each channel. */
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
