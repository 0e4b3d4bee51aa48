export interface VideoTask {
  portable: boolean;
  bytes: Uint8Array;
}

/** Facts about a file, from its container. */
export interface VideoFacts {
  /** `video/mp4`, `video/quicktime`, `video/webm`, `video/x-matroska`. */
  contentType: string;
  /** As shown, after rotation. */
  width: number;
  height: number;
  durationSeconds: number;
  /** Whether its frames can be decoded here. That needs the optional codec package. */
  readable: boolean;
}

/** The video cannot be read: its container is unknown, it is broken, it has no frames, or its frames are too large. */
export class UnreadableVideoError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableVideoError';
  }
}

export interface VideoOptions {
  signal?: AbortSignal | undefined;
}

/** Reads moving pictures, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Video {
  /** @throws UnreadableVideoError */
  probe(bytes: Uint8Array, options?: VideoOptions): Promise<VideoFacts>;
  close(): void;
}
