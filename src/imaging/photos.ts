import sharp from 'sharp';

/** From now on this process reads JPEG, PNG and WebP, and nothing else: for processes that see strangers' files. */
export function readPhotosOnly(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] });
}
