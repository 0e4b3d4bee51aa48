import { receiveBytes } from './bytes-pipe.js';
import type { TaskReply, TaskRequest } from './process.types.js';

/** Progress is reported at most this often. */
const PROGRESS_MS = 100;

/** For a child process: runs the tasks that its pool sends, and ends with its parent. */
export function answerTasks<Task>(
  run: (task: Task, onProgress: (percent: number) => void) => Promise<unknown>,
): void {
  const send = (reply: TaskReply) => {
    process.send?.(reply, (error: Error | null) => {
      if (error !== null) process.exit(1);
    });
  };
  process.on('message', ({ id, task, size }: TaskRequest) => {
    let last = 0;
    const onProgress = (progress: number) => {
      const now = performance.now();
      if (now - last < PROGRESS_MS) return;
      last = now;
      send({ id, progress });
    };
    const given = (size === undefined ? task : { ...task, bytes: receiveBytes(size) }) as Task;
    run(given, onProgress).then(
      (result) => send({ id, result }),
      (error: unknown) => {
        const { name, message } = error instanceof Error ? error : new Error(String(error));
        send({ id, fault: { name, message } });
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
}
