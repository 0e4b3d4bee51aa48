/** The convention's fields of an image's usage: images are charged by the piece, and clients read these. */
export const NO_TOKENS = { input_tokens: 0, output_tokens: 0, total_tokens: 0 } as const;
