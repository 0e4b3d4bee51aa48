import type { Tool } from '../contract/words.js';
import type { Database } from '../database/database.types.js';
import type { ModelCatalogue } from '../models/models.types.js';
import type { GenerationKind, JobKindOptions } from './generation.types.js';
import { createImageKind } from './image/image.js';
import { createImageEditKind } from './image_edit/image_edit.js';
import { createMusicKind } from './music/music.js';
import { createUpstreams } from './pipeline/upstreams.js';
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

interface Parts extends Omit<JobKindOptions, 'spoken' | 'upstreams'> {
  models: ModelCatalogue;
  database: Pick<Database, 'tenantQuery'>;
}

/** The kinds of generation whose work is a job, ready to work. */
export function createJobKinds({ database, models, ...parts }: Parts): GenerationKind<unknown>[] {
  const upstreams = createUpstreams({ models, ...parts });
  const options = { ...parts, upstreams, spoken: createSpokenTexts(database) };
  return Object.values(MAKERS).map((make) => make(options));
}
