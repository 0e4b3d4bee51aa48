import type { ImageModelV4, ImageModelV4CallOptions } from '@ai-sdk/provider';
import type { OrderLog, Ordering } from './order.types.js';

/** An image call beyond the specification's words. `providerOptions.penstock` holds what was checked; what the model has no dial for does nothing. */
export type ImageCallOptions = ImageModelV4CallOptions & {
  /** 0 to 100, from models that know it. */
  onProgress?: (percent: number) => void;
  /** Where models whose work is ordered note their orders. */
  orders?: OrderLog;
};

/** What an image model takes besides words and size; a request for more is refused before it costs anything. */
export interface ImageCapabilities {
  style: boolean;
  negativePrompt: boolean;
  seed: boolean;
  /** Whether it makes pictures with a transparent background. Absent: no. */
  transparent?: boolean;
}

export type ImageModel = Omit<ImageModelV4, 'doGenerate'> &
  Ordering & {
    doGenerate(options: ImageCallOptions): ReturnType<ImageModelV4['doGenerate']>;
    /** Absent: all of it is passed on. */
    capabilities?: ImageCapabilities;
    /** Whether it makes PNG of exactly the size that was asked for, for certain: then nobody reads it again. Absent: no. */
    exactPng?: boolean;
  };
