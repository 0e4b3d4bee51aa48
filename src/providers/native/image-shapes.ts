import type { Shape } from './native-provider.types.js';

/** Shapes that every model knows that takes one instead of a size. */
export const FEW_SHAPES: readonly Shape[] = [
  [1, 1],
  [4, 3],
  [3, 4],
  [16, 9],
  [9, 16],
];

/** Shapes that most of them know. */
export const SHAPES: readonly Shape[] = [...FEW_SHAPES, [3, 2], [2, 3]];
