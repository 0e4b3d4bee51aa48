import { defineConfig } from 'vitest/config';
import base from './vitest.config.js';

/** These wait for leases, sweeps and time limits, and measure nothing: they run side by side. */
const WAITING = [
  'agent-runs-database',
  'agent-runs-processes',
  'database-forgotten',
  'database-silent',
  'signing-secret',
  'stop-without-database',
  'upstream-carried-takeover',
  'upstream-orders',
  'webhook-workers',
].map((name) => `test/faults/${name}.test.ts`);

const { test: shared = {}, ...rest } = base;
const { reporters, ...each } = shared;
const full = { ...each, isolate: true, testTimeout: 300_000, hookTimeout: 120_000 };

/** The fault tests at full size: real processes, many of them, that are killed, stopped and raced. Minutes each; those that load the machine run one by one. */
export default defineConfig({
  test: {
    reporters,
    projects: [
      {
        ...rest,
        test: {
          ...full,
          name: 'waiting',
          include: WAITING,
          exclude: [],
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        ...rest,
        test: {
          ...full,
          name: 'alone',
          include: ['test/faults/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...WAITING],
          fileParallelism: false,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
