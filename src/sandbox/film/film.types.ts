/** What is filmed: a picture that the camera moves over, or another video, under moving lights and a caption. */
export interface FilmTask {
  /** Even. */
  width: number;
  height: number;
  fps: number;
  frames: number;
  /** PNG, JPEG or WebP that was checked before; brought to the camera's field. Null where `source` is filmed. */
  still: Uint8Array | null;
  /** A video that was found readable. */
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
