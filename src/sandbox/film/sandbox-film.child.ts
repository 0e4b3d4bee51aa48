/** The sandbox's film process (see studio.ts): films and encodes. Ends with its parent. */
import { answerTasks } from '../../processes/index.js';
import { film } from './film.js';
import type { StudioTask } from './studio.js';

answerTasks<StudioTask>(async ({ portable, ...task }, onProgress) => await film(task, portable, onProgress));
