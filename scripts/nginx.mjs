/** deploy/nginx.conf, run by the machine's nginx before processes on this machine instead of containers. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS = 10_000;
/** Debian keeps it where only root looks. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

export function hasNginx() {
  return spawnSync('nginx', ['-v'], { env }).status === 0;
}

/** The file as it is, but for where the network of the containers stands in it: each of these has to be found. */
function withAddresses(text, ports, port) {
  const servers = (_line, settings) =>
    ports.map((one) => `server 127.0.0.1:${one}${settings};`).join('\n    ');
  const changes = [
    [/^ *resolver .*;\n/m, ''],
    [/^ *zone .*;\n/m, ''],
    [/server api:4000 resolve( .*)?;/, servers],
    [/listen 4000;/, `listen 127.0.0.1:${port};`],
    [
      /^http \{\n/m,
      (line) =>
        `${line}${TEMPORARY.map((name) => `  ${name}_temp_path ${name};\n`).join('')}  access_log off;\n`,
    ],
  ];
  return changes.reduce((changed, [pattern, by]) => {
    if (!pattern.test(changed)) throw new Error(`deploy/nginx.conf has no ${pattern}`);
    return changed.replace(pattern, by);
  }, text);
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true) || socket.destroy());
    socket.on('error', () => resolve(false));
  });
}

/** @returns how to end it; `log` is what it wrote of faults */
export async function startNginx(ports, port) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-nginx-'));
  const file = join(folder, 'nginx.conf');
  const text = await readFile(new URL('../deploy/nginx.conf', import.meta.url), 'utf8');
  await writeFile(file, withAddresses(text, ports, port));
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const directives = `${user}daemon off; pid ${join(folder, 'pid')};`;
  const child = spawn(
    'nginx',
    ['-p', folder, '-c', file, '-e', join(folder, 'error.log'), '-g', directives],
    { env },
  );
  const output = [];
  child.stderr.on('data', (part) => output.push(part.toString()));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const log = () => readFile(join(folder, 'error.log'), 'utf8').catch(() => '');
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + START_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    if (await answers(port)) return { close, log };
    await sleep(50);
  }
  const why = `${output.join('')}${await log()}`;
  await close();
  throw new Error(`nginx did not start:\n${why}`);
}
