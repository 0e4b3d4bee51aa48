/** Whether it is an embedding: at least one number, none of them beyond what a number can be. */
export const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((part) => Number.isFinite(part));
