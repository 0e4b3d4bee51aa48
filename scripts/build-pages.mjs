/**
 * Bundles what browsers load: the dashboard (`dashboard/` → `dashboard-<hash>.js` and chunks, listed in `dashboard.json`) and GraphiQL (`graphiql/` → `graphiql.js`,
 * `graphiql.css`, and a script for each of its workers). GraphiQL's scripts each hold all that they need; packages are minified into them.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';

/** GraphiQL's worker threads: `graphiql/<name>.worker.ts` → `graphiql-<name>.js`. */
const WORKERS = ['editor', 'json', 'graphql'];
export const GRAPHIQL_FILES = [
  'graphiql.js',
  'graphiql.css',
  ...WORKERS.map((name) => `graphiql-${name}.js`),
];

/** Lists the files of the dashboard. */
export const DASHBOARD_LIST = 'dashboard.json';

/** Style sheets that packages import: each package's one complete sheet is copied instead. */
const withoutStyles = {
  name: 'without-styles',
  load: (id) => (id.endsWith('.css') ? { code: '', moduleType: 'js', moduleSideEffects: false } : null),
};

const optionsOf = (root, tsconfig) => ({
  cwd: root,
  platform: 'browser',
  tsconfig: join(root, tsconfig),
  plugins: [withoutStyles],
  resolve: { extensionAlias: { '.js': ['.tsx', '.ts', '.js'] } },
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  onLog: (level, log, next) =>
    ['CIRCULAR_DEPENDENCY', 'MODULE_LEVEL_DIRECTIVE'].includes(log.code) ? undefined : next(level, log),
});

async function bundlePage({ root, folder, name, entry, tsconfig }) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({ ...optionsOf(root, tsconfig), input: { [name]: join(root, entry) } });
  try {
    // One file: what a package loads lazily is in it.
    await build.write({
      dir: folder,
      format: 'iife',
      minify: true,
      codeSplitting: false,
      entryFileNames: '[name].js',
    });
  } finally {
    await build.close();
  }
}

/**
 * The dashboard: its entry, and a chunk for each view, all named by their content. `dashboard.json` lists them for the page: the entry, its style sheet,
 * and what the entry imports at once, which the browser fetches beside it.
 */
export async function bundleDashboard(root, folder) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    ...optionsOf(root, 'dashboard/tsconfig.json'),
    input: join(root, 'dashboard/main.tsx'),
  });
  let output;
  try {
    ({ output } = await build.write({
      dir: folder,
      format: 'esm',
      minify: true,
      entryFileNames: 'dashboard-[hash].js',
      chunkFileNames: 'dashboard-[name]-[hash].js',
    }));
  } finally {
    await build.close();
  }
  const entry = output.find(({ isEntry }) => isEntry);
  const styles = join(root, 'dashboard', 'styles');
  const sheets = (await readdir(styles)).filter((name) => name.endsWith('.css')).sort();
  const text = (await Promise.all(sheets.map((name) => readFile(join(styles, name), 'utf8')))).join('\n');
  const sheet = `dashboard-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.css`;
  await writeFile(join(folder, sheet), text);
  const list = {
    entry: entry.fileName,
    sheet,
    imports: entry.imports,
    files: [sheet, ...output.map(({ fileName }) => fileName)],
  };
  await writeFile(join(folder, DASHBOARD_LIST), JSON.stringify(list));
  await Promise.all(list.files.map((file) => packed(join(folder, file))));
}

/** Writes the file once more, as small as it gets: too slow to be done for each visitor. */
async function packed(path) {
  await writeFile(`${path}.br`, await promisify(brotliCompress)(await readFile(path)));
}

/** A development package: an installation without those (`npm ci --omit=dev`) has no GraphiQL page, unless its `dist/` was built with it. */
export function findGraphiql() {
  try {
    return createRequire(import.meta.url).resolve('graphiql/style.css');
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

export async function bundleGraphiql(root, folder) {
  const tsconfig = 'graphiql/tsconfig.json';
  const workers = WORKERS.map((name) => ({
    name: `graphiql-${name}`,
    entry: `graphiql/${name}.worker.ts`,
  }));
  for (const page of [{ name: 'graphiql', entry: 'graphiql/main.tsx' }, ...workers])
    await bundlePage({ root, folder, tsconfig, ...page });
  const sheets = [findGraphiql(), join(root, 'graphiql', 'page.css')];
  const texts = await Promise.all(sheets.map((path) => readFile(path, 'utf8')));
  await writeFile(join(folder, 'graphiql.css'), texts.join('\n'));
}
