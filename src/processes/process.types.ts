/** What a pool sends to its processes. */
export interface TaskRequest {
  id: number;
  task: object;
  /** Length of the task's long `bytes`, which come through the pipe (bytes-pipe.ts). */
  size?: number | undefined;
}

export interface TaskFault {
  /** The error's `name`: callers distinguish errors by it. */
  name: string;
  message: string;
}

/** What they answer: progress any number of times, then a result or a fault. */
export type TaskReply =
  | { id: number; progress: number }
  | { id: number; result: unknown }
  | { id: number; fault: TaskFault };

/** What a task threw in its process; `fault` is the original's name and message. */
export class TaskError extends Error {
  constructor(readonly fault: TaskFault) {
    super(fault.message);
    this.name = 'TaskError';
  }
}

/** A process ended during its task: out of memory, out of time, or by a fault of its own. */
export class ProcessDiedError extends Error {
  constructor() {
    super('The working process died');
    this.name = 'ProcessDiedError';
  }
}
