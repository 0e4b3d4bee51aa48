/** The video process (see video.ts): reads untrusted files. Ends with its parent. */
import { answerTasks } from '../processes/index.js';
import { probe } from './probe.js';
import type { VideoTask } from './video.types.js';

answerTasks<VideoTask>(async ({ bytes, portable }) => await probe(bytes, portable));
