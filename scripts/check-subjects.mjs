/**
 * Subjects of commits have at most 72 characters: longer ones are cut wherever commits are listed. Looks at the commits since `SUBJECTS_SINCE`
 * (a revision; default: where the branch left origin/main). Where neither is known, at nothing.
 */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MAX_LENGTH = 72;

/** A command's output; undefined where git, the repository or the revision is not there. */
async function git(...args) {
  const ran = promisify(execFile)('git', args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
  return ran.then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

/** @returns {Promise<{faults: string[]}>} each commit whose subject is too long. */
export async function checkSubjects() {
  const since = process.env.SUBJECTS_SINCE ?? (await git('merge-base', 'HEAD', 'origin/main'));
  const lines = since && (await git('log', '--no-merges', '--format=%h %s', `${since}..HEAD`));
  const faults = (lines ?? '')
    .split('\n')
    .filter((line) => [...line.slice(line.indexOf(' ') + 1)].length > MAX_LENGTH)
    .map((line) => `the subject is longer than ${MAX_LENGTH} characters: ${line}`);
  return { faults };
}
