import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

/** The fault tests at full size: real processes, many of them, that are killed, stopped and raced. One file at a time, minutes each. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      include: ['test/faults/**/*.test.ts'],
      exclude: ['**/node_modules/**'],
      fileParallelism: false,
      isolate: true,
      maxWorkers: 1,
      testTimeout: 300_000,
      hookTimeout: 120_000,
    },
  }),
);
