/**
 * `npm run clients`: installs the clients that the tests call Penstock with (test/clients/package.json, and test/clients/requirements.txt with
 * schemathesis where there is python3) into `.cache/clients`, and the gateway that they call it through (test/clients/gateway) below it, where they are not installed yet.
 * Ends with 1 when those of npm could not be installed.
 */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LIMIT_MS = 240_000;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wanted = join(root, 'test', 'clients');
const installed = join(root, '.cache', 'clients');

/** A command's exit code; null where it could not start or was stopped. */
function run(folder, command, ...args) {
  const options = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: LIMIT_MS };
  return new Promise((resolve) => {
    spawn(command, args, { ...options, shell: process.platform === 'win32' && command === 'npm' })
      .on('exit', resolve)
      .on('error', () => resolve(null));
  });
}

/** Does `install` unless a copy of the folder's `list` says that it was done. @returns whether it is installed */
async function once(folder, list, install) {
  const mark = join(installed, folder, `.installed-${list}`);
  const current = await readFile(join(wanted, folder, list), 'utf8');
  if ((await readFile(mark, 'utf8').catch(() => null)) === current) return true;
  await rm(mark, { force: true });
  if (!(await install())) return false;
  await writeFile(mark, current);
  return true;
}

/** Installs the npm packages of a folder of test/clients. */
async function packages(folder) {
  const target = join(installed, folder);
  await mkdir(target, { recursive: true });
  return once(folder, 'package-lock.json', async () => {
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(wanted, folder, file), join(target, file));
    // Nothing of theirs runs at installation: the programs are where their packages have them.
    return (await run(target, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')) === 0;
  });
}

const npm = await packages('.');
const gateway = await packages('gateway');
const python = await once('.', 'requirements.txt', async () => {
  if ((await run(installed, 'python3', '-m', 'venv', 'python')) !== 0) return false;
  const pip = join(installed, 'python', 'bin', 'pip');
  return (await run(installed, pip, 'install', '--quiet', '-r', join(wanted, 'requirements.txt'))) === 0;
});
const said = { npm, gateway, python };
console.log(
  `clients: ${Object.entries(said)
    .map(([name, done]) => `${name} ${done ? 'installed' : 'not installed'}`)
    .join(', ')}`,
);
process.exitCode = npm && gateway ? 0 : 1;
