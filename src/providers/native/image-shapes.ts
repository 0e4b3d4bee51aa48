import type { Shape } from './native-provider.types.js';

/** Aspect ratios that every model without sizes supports. */
export const FEW_SHAPES: readonly Shape[] = [
  [1, 1],
  [4, 3],
  [3, 4],
  [16, 9],
  [9, 16],
];

/** Aspect ratios that most of these models support. */
export const SHAPES: readonly Shape[] = [...FEW_SHAPES, [3, 2], [2, 3]];
