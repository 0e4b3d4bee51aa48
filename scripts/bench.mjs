/**
 * `npm run bench [-- --quick]`: installs what Penstock is compared with (bench/package.json) where that is not installed yet, builds the
 * product and the programs of `bench/`, then compares (bench/run.ts). Nothing is left running.
 */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, bundle } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, '.cache');
const peers = join(root, 'bench', 'node_modules');

/** A command's end. */
function run(command, args, options) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => child.on('exit', (code) => resolve(code ?? 1)).on('error', reject));
}

/** A copy of the lock beside the packages says what they were installed from. */
async function installPeers() {
  const lock = join(root, 'bench', 'package-lock.json');
  const installed = join(peers, '.installed-lock.json');
  const current = await readFile(installed, 'utf8').catch(() => null);
  if (current === (await readFile(lock, 'utf8'))) return;
  const args = ['ci', '--no-audit', '--no-fund'];
  const code = await run('npm', args, { cwd: join(root, 'bench'), shell: process.platform === 'win32' });
  if (code !== 0) throw new Error(`npm ci in bench/ ended with ${code}`);
  await copyFile(lock, installed);
}

await installPeers();
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
  const args = [join(programs, 'run.js'), programs, root, ...process.argv.slice(2)];
  process.exitCode = await run(process.execPath, args);
} finally {
  await rm(programs, { recursive: true, force: true });
}
