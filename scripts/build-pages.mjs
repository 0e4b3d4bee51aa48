/**
 * Bundles what browsers load: the dashboard (`dashboard/` → `dashboard.js`, `dashboard.css`) and GraphiQL (`graphiql/` → `graphiql.js`,
 * `graphiql.css`, and a script for each of its workers). Each script holds all that it needs; packages are minified into it.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** GraphiQL's worker threads: `graphiql/<name>.worker.ts` → `graphiql-<name>.js`. */
const WORKERS = ['editor', 'json', 'graphql'];
export const GRAPHIQL_FILES = [
  'graphiql.js',
  'graphiql.css',
  ...WORKERS.map((name) => `graphiql-${name}.js`),
];

/** Style sheets that packages import: each package's one complete sheet is copied instead. */
const withoutStyles = {
  name: 'without-styles',
  load: (id) => (id.endsWith('.css') ? { code: '', moduleType: 'js', moduleSideEffects: false } : null),
};

async function bundlePage({ root, folder, name, entry, tsconfig }) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    cwd: root,
    input: { [name]: join(root, entry) },
    platform: 'browser',
    tsconfig: join(root, tsconfig),
    plugins: [withoutStyles],
    resolve: { extensionAlias: { '.js': ['.tsx', '.ts', '.js'] } },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog: (level, log, next) =>
      ['CIRCULAR_DEPENDENCY', 'MODULE_LEVEL_DIRECTIVE'].includes(log.code) ? undefined : next(level, log),
  });
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

export async function bundleDashboard(root, folder) {
  await bundlePage({
    root,
    folder,
    name: 'dashboard',
    entry: 'dashboard/main.tsx',
    tsconfig: 'dashboard/tsconfig.json',
  });
  const styles = join(root, 'dashboard', 'styles');
  const sheets = (await readdir(styles)).filter((name) => name.endsWith('.css')).sort();
  const texts = await Promise.all(sheets.map((name) => readFile(join(styles, name), 'utf8')));
  await writeFile(join(folder, 'dashboard.css'), texts.join('\n'));
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
