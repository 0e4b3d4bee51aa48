export { createGenerationService } from './pipeline.js';
export type { GenerationOptions } from './pipeline.js';
export { jobHandlersOf } from './pipeline-handlers.js';
export { createImageKind } from './image.js';
export type { ImageKindOptions } from './image.js';
export type * from './generation.types.js';
