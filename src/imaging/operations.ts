/** The size of pictures from phone cameras. Larger ones would need gigabytes. The header is checked before anything is decoded. */
export const MAX_PICTURE_PIXELS = 50_400_000;
