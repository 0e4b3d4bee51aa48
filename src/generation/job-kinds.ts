import type { Tool } from '../contract/words.js';
import type { Database } from '../database/database.types.js';
import type { GenerationKind, JobKindOptions } from './generation.types.js';
import { createImageKind } from './image/image.js';
import { createImageEditKind } from './image_edit/image_edit.js';
import { createMusicKind } from './music/music.js';
import { createSttKind } from './stt/stt.js';
import { createSpokenTexts } from './tts/spoken-texts.queries.js';
import { createTtsKind } from './tts/tts.js';
import { createVideoKind } from './video/video.js';

/** What does the work of each kind whose work is a job. */
const MAKERS: Record<Tool, (options: JobKindOptions) => GenerationKind<unknown>> = {
  image: createImageKind,
  image_edit: createImageEditKind,
  video: createVideoKind,
  music: createMusicKind,
  tts: createTtsKind,
  stt: createSttKind,
};

/** The kinds of generation whose work is a job, ready to work. */
export function createJobKinds({
  database,
  ...options
}: Omit<JobKindOptions, 'spoken'> & {
  database: Pick<Database, 'tenantQuery'>;
}): GenerationKind<unknown>[] {
  const spoken = createSpokenTexts(database);
  return Object.values(MAKERS).map((make) => make({ ...options, spoken }));
}
