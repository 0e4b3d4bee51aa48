/** The video process (see video.ts): films, encodes, and reads strangers' files. Ends with its parent. */
import { answerTasks } from '../processes/index.js';
import { film } from './frames/film.js';
import { probe } from './source/probe.js';
import type { VideoTask } from './video.types.js';

answerTasks<VideoTask>(async (task, onProgress) =>
  task.kind === 'film' ? await film(task, task.portable, onProgress) : await probe(task.bytes, task.portable),
);
