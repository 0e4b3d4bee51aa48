import type { EditedImage, EditOperation } from '../imaging/index.js';
import type { TokenClasses } from '../pricing/pricing.types.js';
import type { OrderLog, Ordering } from './order.types.js';

/** Edits one image by a prompt, inside the mask. */
export interface ImageEditor extends Ordering {
  capabilities: ImageEditCapabilities;
  wholeOperation?: never;
  /** The edited image, in any format that Penstock can decode. @throws UpstreamError */
  edit(call: ImageEditCall): Promise<Uint8Array>;
}

/** An engine that edits the pixels itself: it gets the unchanged request, and its result is stored unchanged. */
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
  /** As those of {@link ImageEditCall}, as large as the result and in its format. */
  partials?: { count: number; onPartial(image: EditedImage): void };
}

/** What an editing model supports; a request for anything else is refused before it costs anything. */
export interface ImageEditCapabilities {
  /** Operations of contract 4.3; null: all. */
  operations: readonly string[] | null;
  /** Whether it takes a strength. */
  strength: boolean;
  /** Names that it knows in `model_inputs`; `seed` is one. */
  modelInputs: readonly string[];
  /** The form of the mask: transparent where the model may paint (`hole`), or white on black (`white`). */
  mask: 'hole' | 'white';
}

export interface ImageEditCall {
  operation: string;
  /** The complete instruction. */
  prompt: string;
  /** PNG. */
  image: Uint8Array;
  /** A PNG of the image's size, in the form of the model's capabilities; absent: the model may paint everywhere. */
  mask?: Uint8Array;
  /** The size to which the result will be scaled. */
  width: number;
  height: number;
  /** How many times larger than the image; 1 for all operations but superResolution. */
  scale: number;
  /** The result should have a transparent background. */
  transparent: boolean;
  strength: number;
  /** The quality, for models with such a parameter. */
  quality?: string;
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  signal: AbortSignal;
  /** Stores orders, for models whose work is ordered and polled. */
  orders?: OrderLog;
  /** So many coarser pictures are shown before the edited one, at most, by models that draw them. Absent: none. */
  partials?: { count: number; onPartial(bytes: Uint8Array): void };
  /** Gets the tokens of upstreams that charge for tokens. */
  onTokens?: (tokens: TokenClasses) => void;
}
