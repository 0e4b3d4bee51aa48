/**
 * The published contracts (`schema/schema.graphql`, `schema/openapi.json` …) are generated from the code and committed, and so is what the
 * dashboard knows of them (`dashboard/data/schema.generated.ts`).
 *
 *   node scripts/contracts.mjs           writes them
 *   node scripts/contracts.mjs --check   faults where the committed text is not the generated one
 *
 * Both show what the change means to GraphQL clients, against `CONTRACT_BASE` (a git revision, default HEAD).
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { bundle } from './build.mjs';
import { CLIENT_OPERATIONS, clientOperations } from './client-operations.mjs';
import { DASHBOARD_TYPES, checkOperations, dashboardTypes } from './dashboard-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Exports `renderContracts(): Promise<Record<string, string>>`: the text of each contract by its path. */
const GENERATOR = 'src/boot/contracts.ts';
const SDL = 'schema/schema.graphql';

/** The contracts as the code has them now. The bundle lies inside the checkout so that packages resolve. */
async function generate() {
  const cache = join(root, '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'contracts-'));
  try {
    await bundle([GENERATOR], folder);
    const { renderContracts } = await import(pathToFileURL(join(folder, 'contracts.js')).href);
    const contracts = await renderContracts();
    const sdl = contracts[SDL];
    return {
      ...contracts,
      [DASHBOARD_TYPES]: await dashboardTypes(sdl),
      [CLIENT_OPERATIONS]: clientOperations(sdl),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A file's text at a revision; undefined where git or the file is not there (a tarball, a first commit). */
async function committed(path) {
  const base = process.env.CONTRACT_BASE ?? 'HEAD';
  const show = promisify(execFile)('git', ['show', `${base}:${path}`], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  return show.then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}

/** One line for each change of the schema that clients can notice; breaking ones are marked. */
async function schemaChanges(before, after) {
  if (before === undefined || before === after) return [];
  const { buildASTSchema, findBreakingChanges, findDangerousChanges, parse } = await import('graphql');
  const [old, current] = [before, after].map((sdl) =>
    buildASTSchema(parse(sdl), { assumeValid: true, assumeValidSDL: true }),
  );
  return [
    ...findBreakingChanges(old, current).map(({ description }) => `breaking: ${description}`),
    ...findDangerousChanges(old, current).map(({ description }) => `dangerous: ${description}`),
  ];
}

/** @returns {Promise<{faults: string[], notes: string[]}>} stale contracts; changes that clients notice. */
export async function checkContracts() {
  const contracts = await generate();
  const faults = [];
  for (const [path, text] of Object.entries(contracts)) {
    const current = await readFile(join(root, path), 'utf8').catch(() => '');
    if (current !== text)
      faults.push(`${path} is not what the code generates: run \`npm run contracts\` and commit it`);
  }
  faults.push(...(await checkOperations(contracts[SDL])));
  return { faults, notes: await schemaChanges(await committed(SDL), contracts[SDL]) };
}

async function write() {
  const contracts = await generate();
  for (const [path, text] of Object.entries(contracts)) await writeFile(join(root, path), text);
  for (const line of await schemaChanges(await committed(SDL), contracts[SDL])) console.log(line);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--check')) {
    const { faults, notes } = await checkContracts();
    for (const line of notes) console.log(line);
    for (const fault of faults) console.error(fault);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } else {
    await write();
  }
}
