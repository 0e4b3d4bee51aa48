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
