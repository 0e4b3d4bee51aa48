import sharp from 'sharp';

/** Lets this process read only JPEG, PNG and WebP from now on. For processes that read untrusted files. */
export function readPhotosOnly(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] });
}
