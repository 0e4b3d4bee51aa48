import type { ImageModelV4, ImageModelV4CallOptions } from '@ai-sdk/provider';
import type { OrderLog, Ordering } from './order.types.js';

/**
 * An image call with more options than the AI SDK's specification. `providerOptions.penstock` has the checked values; values that the model does
 * not support have no effect.
 */
export type ImageCallOptions = ImageModelV4CallOptions & {
  /** 0 to 100, from models that report progress. */
  onProgress?: (percent: number) => void;
  /** So many coarser pictures are shown before the whole one, at most, by models that draw them. Absent: none. */
  partials?: { count: number; onPartial(bytes: Uint8Array): void };
  /** Stores orders, for models whose work is ordered and polled. */
  orders?: OrderLog;
};

/** What an image model supports besides prompt and size; a request for anything else is refused before it costs anything. */
export interface ImageCapabilities {
  style: boolean;
  negativePrompt: boolean;
  seed: boolean;
  /** Whether it makes images with a transparent background. Absent: no. */
  transparent?: boolean;
}

export type ImageModel = Omit<ImageModelV4, 'doGenerate'> &
  Ordering & {
    doGenerate(options: ImageCallOptions): ReturnType<ImageModelV4['doGenerate']>;
    /** Absent: all of it is passed on. */
    capabilities?: ImageCapabilities;
    /** Whether its results are always PNG of exactly the requested size: then they need not be decoded and checked. Absent: no. */
    exactPng?: boolean;
  };
