/**
 * `npm run check`: everything that can be known without running the product. Each step runs to its end and is timed; all faults are listed; the exit code
 * is 1 when a step has one.
 */
import { execFile, spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkImports } from './check-imports.mjs';
import { checkClientDocs } from './check-client-docs.mjs';
import { checkPatterns } from './check-patterns.mjs';
import { checkContracts } from './contracts.mjs';
import { checkSubjects } from './check-subjects.mjs';
import { checkDocuments } from './check-documents.mjs';
import { checkEntities } from './check-entities.mjs';
import { checkRawSql } from './check-raw-sql.mjs';
import { checkReferences } from './check-references.mjs';
import { checkSchema } from './check-schema.mjs';
import { checkLicences } from './licences.mjs';
import { checkMigrations } from './migrations.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MAX_LINES = 500;
const CODE_FOLDERS = [
  'src',
  'schema',
  'rest-compat',
  'subscriptions',
  'migrations',
  'client',
  'dashboard',
  'graphiql',
  'test',
  'bench',
  'scripts',
];

/** Runs a tool of node_modules/.bin; its whole output is the fault where it fails. */
function tool(name, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(join(root, 'node_modules', '.bin', name), args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({
        faults: code === 0 ? [] : [Buffer.concat(output).toString().trim() || `${name} ended with ${code}`],
      });
    });
  });
}

/** The linter counts lines of code files already; this also holds scripts and whatever it skips to the same length. */
async function checkLengths() {
  const faults = [];
  for (const folder of CODE_FOLDERS) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((file) => file.isFile() && /\.(ts|tsx|mjs)$/.test(file.name))) {
      // Packages that `npm run bench` installs there.
      if (/node_modules|client\/dist/.test(entry.parentPath)) continue;
      const path = join(entry.parentPath, entry.name);
      const lines = (await readFile(path, 'utf8')).split('\n').length - 1;
      if (lines > MAX_LINES) faults.push(`${relative(root, path)}: ${lines} lines, at most ${MAX_LINES}`);
    }
  }
  return { faults };
}

/** What is ignored must not be tracked: a link to another checkout's packages, once committed, replaces them there. */
async function checkTracked() {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-ci', '--exclude-standard'], {
    cwd: root,
  }).catch(
    // No repository: a downloaded tree.
    () => ({ stdout: '' }),
  );
  const tracked = stdout.split('\n').filter((line) => line !== '');
  return { faults: tracked.map((path) => `${path} is tracked although .gitignore names it`) };
}

/** No tracked text has the marks that git leaves where a merge stopped. */
async function checkConflicts() {
  const marks = '^(<{7}|>{7}|[|]{7})( |$)';
  const { stdout } = await promisify(execFile)('git', ['grep', '-nIE', marks], { cwd: root }).catch(
    // Nothing found, or no repository.
    () => ({ stdout: '' }),
  );
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { faults: lines.map((line) => `${line.split(':', 2).join(':')}: a conflict of a merge is left`) };
}

const STEPS = [
  ['tracked', checkTracked],
  ['conflicts', checkConflicts],
  ['subjects', checkSubjects],
  ['format', () => tool('oxfmt', '--check', '.')],
  ['lint', () => tool('oxlint', '--type-aware', '--deny-warnings')],
  ['imports', async () => ({ faults: await checkImports() })],
  ['raw SQL', async () => ({ faults: await checkRawSql() })],
  ['patterns', async () => ({ faults: await checkPatterns() })],
  ['references', checkReferences],
  ['migrations', () => checkMigrations()],
  ['entities', checkEntities],
  ['length', checkLengths],
  ['types', () => tool('tsc', '-p', 'tsconfig.json', '--noEmit')],
  ['page types', () => tool('tsc', '-p', 'dashboard/tsconfig.json', '--noEmit')],
  ['client', () => tool('tsc', '-p', 'client/tsconfig.json', '--noEmit')],
  ['client docs', checkClientDocs],
  ['client examples', () => tool('tsc', '-p', 'client/examples', '--noEmit')],
  ['GraphiQL', () => tool('tsc', '-p', 'graphiql/tsconfig.json', '--noEmit')],
  ['documents', checkDocuments],
  ['contracts', checkContracts],
  ['schema rules', checkSchema],
  ['licences', checkLicences],
];

let failed = 0;
for (const [name, step] of STEPS) {
  const start = performance.now();
  const { faults, notes = [] } = await step().catch((error) => ({ faults: [error.stack ?? String(error)] }));
  const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
  console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(10)} ${took.padStart(7)}`);
  for (const line of [...notes, ...faults]) console.log(line.replace(/^/gm, '     '));
  if (faults.length > 0) failed += 1;
}
console.log(failed === 0 ? 'check: all steps passed' : `check: ${failed} of ${STEPS.length} steps failed`);
process.exitCode = failed === 0 ? 0 : 1;
