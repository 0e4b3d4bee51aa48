import { defineConfig } from 'vitest/config';
import { sqlModules } from './scripts/sql-files.mjs';
import { SlowFirst } from './test/support/slow-first.js';

/**
 * Every test but the full-size fault tests (`vitest.faults.config.ts`). Each file has a database of its own, so that files run side by side.
 */
export default defineConfig({
  plugins: [sqlModules],
  // One copy of graphql-js for the sources (bundled by vitest) and the packages (loaded by Node), else instanceof checks fail between them.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/faults/**', '**/node_modules/**'],
    globalSetup: ['test/support/build-setup.ts', 'test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
    pool: 'forks',
    // A worker loads the product once for all its files: no file changes what modules share, and the leak check sees to the rest.
    isolate: false,
    // Twice the cores of a small machine: many tests wait for leases, retries and restarts.
    maxWorkers: 4,
    // A few that start several processes, or wait for the product's own time limits, say so in their files.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    restoreMocks: true,
    reporters: process.env['VITEST_JSON']
      ? ['default', ['json', { outputFile: process.env['VITEST_JSON'] }]]
      : ['default'],
  },
});
