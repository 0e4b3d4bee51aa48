import type { OrderLog, Ordering } from './order.types.js';

/** Edits one picture. */
export interface ImageEditor extends Ordering {
  capabilities: ImageEditCapabilities;
  /** The edited picture in any format that can be read. @throws UpstreamError */
  edit(call: ImageEditCall): Promise<Uint8Array>;
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
  modelInputs: Readonly<Record<string, string | number | boolean>>;
  signal: AbortSignal;
  /** Where models whose work is ordered note their orders. */
  orders?: OrderLog;
}
