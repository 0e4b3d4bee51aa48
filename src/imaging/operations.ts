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

/** The size of pictures from phone cameras. Larger ones would need gigabytes. The header is checked before anything is decoded. */
export const MAX_PICTURE_PIXELS = 50_400_000;
