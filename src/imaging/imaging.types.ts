/** What the imaging processes do. `render` runs apart from `fit`: the process that reads SVG never sees a stranger's file. */
export type ImagingTask =
  | { kind: 'render'; svg: string; width: number; height: number; madeFor?: string }
  | { kind: 'fit'; bytes: Uint8Array; width: number; height: number }
  /** Size from the header; decoded once, to nothing, where it is within the limit. */
  | { kind: 'inspect'; bytes: Uint8Array; maxPixels: number }
  | ({ kind: 'cutOut' } & CutOut)
  | { kind: 'maskOf'; bytes: Uint8Array }
  | ({ kind: 'finishEdit' } & FinishEdit);

/** A picture with a hole: transparent where the mask is white, and in the borders put around it. */
export interface CutOut {
  image: Uint8Array;
  /** As large as the image. */
  mask?: Uint8Array;
  /** Pixels. */
  borders: { left: number; right: number; top: number; bottom: number };
}

/** An upstream's edit on its way to the caller. */
export interface FinishEdit {
  bytes: Uint8Array;
  /** To be covered exactly. */
  width: number;
  height: number;
  /** PNG with its transparency instead of JPEG. */
  transparent: boolean;
  /** What is put back over it: a {@link CutOut}'s picture. */
  kept?: Uint8Array;
}

export interface RasterImage {
  /** PNG. */
  bytes: Buffer;
  width: number;
  height: number;
}

/** The result of an edit: JPEG, or PNG where it is transparent. */
export interface EditedImage {
  bytes: Buffer;
  width: number;
  height: number;
}

/** The input is no image that can be read (JPEG, PNG and WebP can), or has too many pixels. */
export class UnreadableImageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableImageError';
  }
}

/** Pixel work, in child processes off the event loop. Aborting a task kills the process that runs it. */
export interface Imaging {
  /** Draws our own SVG, exactly of this size, as PNG. */
  render(
    svg: string,
    /** `madeFor`: the prompt that the sandbox drew it for, which the file then tells. */
    options: { width: number; height: number; madeFor?: string },
    signal?: AbortSignal,
  ): Promise<RasterImage>;
  /**
   * An upstream's or a stranger's image, brought to exactly this size (covering it, cut around the middle), as PNG.
   * @throws UnreadableImageError
   */
  fit(bytes: Uint8Array, size: { width: number; height: number }, signal?: AbortSignal): Promise<RasterImage>;
  /**
   * An image's size as it is seen (turned as its camera says). Its header tells it, so that a bomb is known before it goes off; with at
   * most `maxPixels` it is then read to its end, so that a broken file is known before work on it begins.
   * @throws UnreadableImageError
   */
  inspect(
    bytes: Uint8Array,
    options: { maxPixels: number; signal?: AbortSignal },
  ): Promise<{ width: number; height: number }>;
  /** As PNG. @throws UnreadableImageError */
  cutOut(task: CutOut, signal?: AbortSignal): Promise<RasterImage>;
  /** A {@link CutOut}'s hole in the other common form: white on black, PNG. @throws UnreadableImageError */
  maskOf(holed: Uint8Array, signal?: AbortSignal): Promise<RasterImage>;
  /** @throws UnreadableImageError */
  finishEdit(task: FinishEdit, signal?: AbortSignal): Promise<EditedImage>;
  close(): void;
}
