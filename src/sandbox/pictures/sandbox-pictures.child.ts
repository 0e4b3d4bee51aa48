/** The sandbox's picture process (see pictures.ts): analyses and edits untrusted pictures. Ends with its parent. */
import sharp from 'sharp';
import { readPhotosOnly } from '../../imaging/child-index.js';
import { MAX_PICTURE_PIXELS, UnreadableImageError } from '../../imaging/index.js';
import { answerTasks } from '../../processes/index.js';
import { edit } from '../edit/edit.js';
import { look } from '../look/look.js';
import type { PictureTask } from './pictures.js';

sharp.cache(false);
sharp.concurrency(1);
readPhotosOnly();

answerTasks<PictureTask>(async (request) => {
  try {
    return request.kind === 'look' ? await look(request.bytes, MAX_PICTURE_PIXELS) : await edit(request.task);
  } catch (error) {
    throw new UnreadableImageError(error instanceof Error ? error.message : 'unreadable');
  }
});
