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

/** What the cameras of phones make. More would take gigabytes to work on; the header is asked before anything is decoded. */
export const MAX_PICTURE_PIXELS = 50_400_000;
