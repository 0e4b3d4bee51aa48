/** Tasks of the imaging processes. `render` has processes of its own: a process that reads SVG never reads an untrusted file. */
export type ImagingTask =
  | { kind: 'render'; svg: string; width: number; height: number; madeFor?: string }
  | { kind: 'fit'; bytes: Uint8Array; width: number; height: number }
  /** Reads the size from the header. If it is within the limit, the picture is also decoded once. */
  | { kind: 'inspect'; bytes: Uint8Array; maxPixels: number }
  | ({ kind: 'encode'; bytes: Uint8Array } & PictureFormat)
  | ({ kind: 'cutOut' } & CutOut)
  | { kind: 'maskOf'; bytes: Uint8Array }
  | ({ kind: 'finishEdit' } & FinishEdit);

/** What a picture is written as. */
export interface PictureFormat {
  format: 'png' | 'jpeg' | 'webp';
  /** 1 to 100; PNG loses nothing. */
  quality: number;
}

/** A picture with a hole: transparent where the mask is white, and in the borders put around it. */
export interface CutOut {
  image: Uint8Array;
  /** As large as the image. */
  mask?: Uint8Array;
  /** Pixels. */
  borders: { left: number; right: number; top: number; bottom: number };
}

/** An upstream's edit that is brought into the form that the caller gets. */
export interface FinishEdit {
  bytes: Uint8Array;
  /** The result has exactly this size. */
  width: number;
  height: number;
  /** PNG with its transparency instead of JPEG. */
  transparent: boolean;
  /** A {@link CutOut}'s picture that is put over the edit again. */
  kept?: Uint8Array;
}

export interface RasterImage {
  /** PNG, where nothing else was asked for. */
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

/** The input cannot be read as JPEG, PNG or WebP, or it has too many pixels. */
export class UnreadableImageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableImageError';
  }
}

/** Work on pixels, in child processes off the event loop. Aborting a task kills the process that runs it. */
export interface Imaging {
  /** Renders the product's own SVG as a PNG of exactly this size. */
  render(
    svg: string,
    /** `madeFor`: the prompt that the sandbox drew it for. It is written into the file. */
    options: { width: number; height: number; madeFor?: string },
    signal?: AbortSignal,
  ): Promise<RasterImage>;
  /**
   * Scales and crops an untrusted image to exactly this size, as PNG. The middle stays.
   * @throws UnreadableImageError
   */
  fit(bytes: Uint8Array, size: { width: number; height: number }, signal?: AbortSignal): Promise<RasterImage>;
  /**
   * The size of an image after rotation by its EXIF orientation. It is read from the header, so that a decompression bomb is never decoded. An image
   * of at most `maxPixels` is then decoded once, so that a broken file is found before work begins.
   * @throws UnreadableImageError
   */
  inspect(
    bytes: Uint8Array,
    options: { maxPixels: number; signal?: AbortSignal },
  ): Promise<{ width: number; height: number }>;
  /** The same picture in another format; JPEG has white in the place of transparency. @throws UnreadableImageError */
  encode(bytes: Uint8Array, format: PictureFormat, signal?: AbortSignal): Promise<EditedImage>;
  /** Cuts the mask out of a picture, as PNG. @throws UnreadableImageError */
  cutOut(task: CutOut, signal?: AbortSignal): Promise<RasterImage>;
  /** The hole of a {@link CutOut} as white on black, PNG. @throws UnreadableImageError */
  maskOf(holed: Uint8Array, signal?: AbortSignal): Promise<RasterImage>;
  /** @throws UnreadableImageError */
  finishEdit(task: FinishEdit, signal?: AbortSignal): Promise<EditedImage>;
  close(): void;
}
