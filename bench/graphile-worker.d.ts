/** Types of the used part of graphile-worker. The package itself is in bench/node_modules, where only `npm run bench` installs it. */
declare module 'graphile-worker' {
  import type { Pool, PoolClient } from 'pg';

  export class Logger {
    constructor(factory: (scope: object) => (level: string, message: string) => void);
  }
  interface Options {
    pgPool: Pool;
    logger: Logger;
  }
  type Task = (
    payload: unknown,
    helpers: { withPgClient<T>(use: (client: PoolClient) => Promise<T>): Promise<T> },
  ) => Promise<void>;
  export type TaskList = Record<string, Task>;
  export function makeWorkerUtils(options: Options): Promise<{
    migrate(): Promise<void>;
    addJobs(jobs: { identifier: string; payload: object }[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  export function run(
    options: Options & { taskList: TaskList; noHandleSignals: boolean; preset: { worker?: object } },
  ): Promise<{ stop(): Promise<void> }>;
}
