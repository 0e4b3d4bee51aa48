/**
 * Bundles the TypeScript sources into `dist/`. TypeScript runs nowhere else outside the tests.
 *
 * Entries, all written flat into `dist/` (chunks too, so that `new URL('./name.js', import.meta.url)` holds in every bundled file):
 *  - `src/main.ts` → `dist/main.js`, the server; `src/cli.ts` → `dist/cli.js`, the command line;
 *  - every `*.thread.ts` and `*.child.ts` under `src/` → `dist/<same name>.js`, for worker threads and child processes. Names must be unique.
 *    In bundled code: `new Worker(new URL('./picture.thread.js', import.meta.url))`. Under vitest `import.meta.url` is the source file, so a
 *    caller resolves the file from the repository's `dist/` there (the global set-up of the tests builds first).
 *  - what browsers load, with its packages: scripts/build-pages.mjs.
 *
 * The server's packages stay in `node_modules`, but for those in BUNDLED. GraphiQL is built apart from the rest. Each of the two is skipped when neither a source of it, nor the lock, nor this
 * file changed since its last build. Two builds may run at once: each writes a folder of its own and renames file by file, chunks
 * (content-hashed names) before entries.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  DASHBOARD_LIST,
  GRAPHIQL_FILES,
  bundleDashboard,
  bundleGraphiql,
  findGraphiql,
} from './build-pages.mjs';
import { sqlModules } from './sql-files.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const SOURCE_FOLDERS = [
  'src',
  'schema',
  'rest-compat',
  'subscriptions',
  'migrations',
  'dashboard',
  'client/src',
];
const GRAPHIQL_FOLDERS = ['graphiql'];
const SOURCE_FILES = [
  'package-lock.json',
  'tsconfig.json',
  'scripts/build.mjs',
  'scripts/build-pages.mjs',
  'scripts/sql-files.mjs',
];
const STALE_CHUNK_MS = 3_600_000;
const isEntry = (file) =>
  /\.(thread|child)\.ts$/.test(file) || file === 'src/main.ts' || file === 'src/cli.ts';

async function listSources(names) {
  const folders = await Promise.all(
    names.map(async (folder) => {
      const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(
        missing([]),
      );
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    }),
  );
  return [...folders.flat(), ...SOURCE_FILES].sort();
}

/** The value where a file is absent; every other fault stays one. */
function missing(value) {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}

async function fingerprint(files) {
  const hash = createHash('sha256');
  const stats = await Promise.all(files.map((file) => stat(join(root, file)).catch(missing(null))));
  files.forEach((file, index) => hash.update(`${file}\0${stats[index]?.mtimeMs}\0${stats[index]?.size}\n`));
  return hash.digest('hex');
}

/**
 * Packages of many small modules, which Node would find, read and link one by one at every start of a server and of a command: a quarter of
 * its work. What they alone need, and package.json does not name, is bundled with them.
 */
const BUNDLED = /^(?:zod|type-graphql|graphql-scalars|@mikro-orm\/.*)$/;

/** What tells a module that Node loads at run time from one that is bundled. */
async function externals() {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  );
  // type-graphql asks for class-validator where it is installed; here it is not.
  const named = new Set(['class-validator']);
  for (const names of [dependencies, devDependencies, optionalDependencies])
    for (const name of Object.keys(names)) if (!BUNDLED.test(name)) named.add(name);
  return (id) => {
    if (/^[./]|^@oxc-project\/runtime|^[A-Za-z]:[\\/]/.test(id)) return false;
    return isBuiltin(id) || named.has(/^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
  };
}

/** Bundles TypeScript entries (paths from the repository's root) flat into a folder. */
export async function bundle(entries, folder) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((entry) => [basename(entry, '.ts'), join(root, entry)])),
    platform: 'node',
    tsconfig: join(root, 'tsconfig.json'),
    plugins: [sqlModules],
    external: await externals(),
    onLog: (level, log, next) => (log.code === 'CIRCULAR_DEPENDENCY' ? undefined : next(level, log)),
  });
  try {
    await build.write({
      dir: folder,
      format: 'esm',
      sourcemap: true,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
    });
  } finally {
    await build.close();
  }
}

/** Chunks first, entries last: a process that starts in between finds every file that its entry names. */
async function publish(folder, entries) {
  const names = new Set([DASHBOARD_LIST, ...entries.map((entry) => `${basename(entry, '.ts')}.js`)]);
  const files = (await readdir(folder)).sort((a, b) => Number(names.has(a)) - Number(names.has(b)));
  for (const file of files) await rename(join(folder, file), join(dist, file));
  await removeStale(new Set([...files, ...GRAPHIQL_FILES]));
}

/** Files of older builds stay for an hour: a running server may still load a chunk lazily. */
async function removeStale(current) {
  for (const entry of await readdir(dist, { withFileTypes: true })) {
    if (current.has(entry.name) || entry.name.startsWith('.fingerprint')) continue;
    const path = join(dist, entry.name);
    const { mtimeMs } = await stat(path).catch(missing({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > STALE_CHUNK_MS) await rm(path, { recursive: true, force: true });
  }
}

/** Builds one part in a folder of its own, when its sources changed since its last build. */
async function buildPart({ stamp, files, write, entries }) {
  const mark = await fingerprint(files);
  const stampFile = join(dist, stamp);
  if ((await readFile(stampFile, 'utf8').catch(missing(''))) === mark) return false;
  await mkdir(dist, { recursive: true });
  const folder = await mkdtemp(join(dist, '.build-'));
  try {
    await write(folder);
    await publish(folder, entries);
    await writeFile(join(folder, 'fingerprint'), mark);
    await rename(join(folder, 'fingerprint'), stampFile);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return true;
}

/**
 * Builds what changed.
 * @returns {Promise<boolean>} whether a build ran.
 */
export async function build() {
  const files = await listSources(SOURCE_FOLDERS);
  const entries = files.filter(isEntry);
  const built = await buildPart({
    stamp: '.fingerprint',
    files,
    entries,
    write: (folder) => Promise.all([bundle(entries, folder), bundleDashboard(root, folder)]),
  });
  if (findGraphiql() === null) return built;
  const pageBuilt = await buildPart({
    stamp: '.fingerprint-graphiql',
    files: await listSources(GRAPHIQL_FOLDERS),
    entries: [],
    write: (folder) => bundleGraphiql(root, folder),
  });
  return built || pageBuilt;
}

/** What whoever starts a checkout that is not theirs is told, in a sentence. */
function explain(error) {
  if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error;
  console.error(
    `The build's folder cannot be written (${error.message}). Let somebody who may write here run \`npm run build\`; then anybody can start it.`,
  );
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build().catch(explain);
