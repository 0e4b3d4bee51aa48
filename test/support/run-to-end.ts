import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnv } from './installation.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Runs the program to its end, with or without a reader of its output. */
export async function runToEnd(
  env: Record<string, string>,
  isRead = true,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [MAIN], {
    env: childEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  if (isRead) {
    child.stdout.on('data', (part: Buffer) => (output.stdout += part.toString()));
    child.stderr.on('data', (part: Buffer) => (output.stderr += part.toString()));
  } else {
    child.stdout.destroy();
    child.stderr.destroy();
  }
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { code, ...output };
}
