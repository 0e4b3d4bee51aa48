import type { ImageModelV4 } from '@ai-sdk/provider';

/** What an image model takes besides words and size; a request for more is refused before it costs anything. */
export interface ImageCapabilities {
  style: boolean;
  negativePrompt: boolean;
  seed: boolean;
}

export type ImageModel = ImageModelV4 & {
  /** Absent: all of it is passed on. */
  capabilities?: ImageCapabilities;
};
