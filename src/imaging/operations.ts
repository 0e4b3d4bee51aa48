/** Operations of contract 4.3. */
export const EDIT_OPERATIONS = [
  'inpainting',
  'outpainting',
  'backgroundRemoval',
  'backgroundReplace',
  'objectRemoval',
  'superResolution',
  'faceEnhancement',
  'colorization',
  'styleTransfer',
] as const;
export type EditOperation = (typeof EDIT_OPERATIONS)[number];

/** More would take gigabytes to work on; the header is asked before anything is decoded. */
export const MAX_EDIT_PIXELS = 17_000_000;
