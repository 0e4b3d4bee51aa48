import type { EditedImage, EditOperation } from '../imaging/index.js';
import type { OrderLog, Ordering } from './order.types.js';

/** Edits one picture by words, painting where it may. */
export interface ImageEditor extends Ordering {
  capabilities: ImageEditCapabilities;
  wholeOperation?: never;
  /** The edited picture in any format that can be read. @throws UpstreamError */
  edit(call: ImageEditCall): Promise<Uint8Array>;
}

/** An engine that does a whole operation on the pixels itself: it gets the request as it stands, and its result is stored as it is. */
export interface PixelEditor extends Ordering {
  capabilities: ImageEditCapabilities;
  wholeOperation: true;
  /** JPEG, or PNG where the result is transparent. @throws UpstreamError, UnreadableImageError */
  edit(call: PixelEditCall): Promise<EditedImage>;
}

export interface PixelEditCall {
  operation: EditOperation;
  /** JPEG, PNG or WebP as the caller gave it. */
  image: Uint8Array;
  /** As large as the image; white is edited. */
  mask?: Uint8Array;
  prompt?: string;
  newBackground?: string;
  direction: 'left' | 'right' | 'top' | 'bottom' | 'all';
  expandPixels: number;
  scale: number;
  /** 0 to 1. */
  strength: number;
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  signal: AbortSignal;
  /** 0 to 100. */
  onProgress(percent: number): void;
}

/** What a model that edits can do; a request for more is refused before it costs anything. */
export interface ImageEditCapabilities {
  /** Operations of contract 4.3; null: all. */
  operations: readonly string[] | null;
  /** Whether it can be told how much to change. */
  strength: boolean;
  /** Names that it knows in `model_inputs`; `seed` is one. */
  modelInputs: readonly string[];
  /** How it is shown where it may paint: transparent there, or white there on black. */
  mask: 'hole' | 'white';
}

export interface ImageEditCall {
  operation: string;
  /** What to do, in words that stand alone. */
  prompt: string;
  /** PNG. */
  image: Uint8Array;
  /** PNG as large as the image, as the model's capabilities say; absent: all of it may be painted. */
  mask?: Uint8Array;
  /** What the result will be brought to. */
  width: number;
  height: number;
  /** How many times larger than the image; 1 for all operations but superResolution. */
  scale: number;
  /** The result should have a transparent background. */
  transparent: boolean;
  strength: number;
  /** How well it is to be made, for models that have a dial for it. */
  quality?: string;
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  signal: AbortSignal;
  /** Where models whose work is ordered note their orders. */
  orders?: OrderLog;
}
