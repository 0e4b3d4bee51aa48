/**
 * `npm run bench [-- --quick]`: builds the product and the programs of `bench/`, then compares (bench/run.ts). Nothing is left running.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, bundle } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, '.cache');
await build();
await mkdir(cache, { recursive: true });
const programs = await mkdtemp(join(cache, 'bench-'));
try {
  const files = await readdir(join(root, 'bench'));
  const entries = files.filter((file) => /\.process\.ts$|^run\.ts$|^reservations\.ts$/.test(file));
  await bundle(
    // The product in a program's own process reads documents in a process beside it.
    [...entries.map((file) => `bench/${file}`), 'src/agents/knowledge/extract.child.ts'],
    programs,
  );
  const child = spawn(
    process.execPath,
    [join(programs, 'run.js'), programs, root, ...process.argv.slice(2)],
    {
      stdio: 'inherit',
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise((resolve, reject) =>
    child.on('exit', (code) => resolve(code ?? 1)).on('error', reject),
  );
} finally {
  await rm(programs, { recursive: true, force: true });
}
