/** What the sandbox's engine films: a picture that the camera moves over, or another video, under moving lights and a caption. */
export interface FilmTask {
  /** Even. */
  width: number;
  height: number;
  fps: number;
  frames: number;
  /** PNG, JPEG or WebP that was checked before; brought to the camera's field. Null where `source` is filmed. */
  still: Uint8Array | null;
  /** A video that {@link Video.probe} found readable. */
  source: Uint8Array | null;
  /** PNG of the video's width, laid over its bottom. */
  caption: Uint8Array;
  /** The same seed moves camera and lights in the same way. */
  seed: string;
  /** The frame after the last would be the first. */
  loop: boolean;
  /** How many lights. */
  lights: number;
  /** Hue of the lights, in degrees. */
  hue: number;
}

export type VideoTask =
  | ({ kind: 'film'; portable: boolean } & FilmTask)
  | { kind: 'probe'; portable: boolean; bytes: Uint8Array };

/** What a file was found to be, from its container. */
export interface VideoFacts {
  /** `video/mp4`, `video/quicktime`, `video/webm`, `video/x-matroska`. */
  contentType: string;
  /** As shown, after rotation. */
  width: number;
  height: number;
  durationSeconds: number;
  /** Whether its frames can be decoded here: needs the optional codec package. */
  readable: boolean;
}

/** No video that can be read: unknown container, broken, without frames, too large. */
export class UnreadableVideoError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableVideoError';
  }
}

export interface VideoOptions {
  signal?: AbortSignal | undefined;
  /** 0 to 100. */
  onProgress?: ((percent: number) => void) | undefined;
}

/** Work on moving pictures, in child processes off the event loop. Aborting a task kills the process that does it. */
export interface Video {
  /** MP4 with H.264, of exactly that size, rate and number of frames. @throws UnreadableVideoError for the source */
  film(task: FilmTask, options?: VideoOptions): Promise<Buffer>;
  /** @throws UnreadableVideoError */
  probe(bytes: Uint8Array, options?: VideoOptions): Promise<VideoFacts>;
  close(): void;
}
