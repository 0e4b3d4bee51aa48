/**
 * A migration is an SQL file that names others by psql's `\ir path`: that file's text stands in the line's place. Here they are read, and
 * made modules: `import { sql } from './0001_schema.sql'`, in the bundle and under vitest alike.
 */
import { readFile, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

const INCLUDE = /^\\ir (\S+)$/gm;

/** The paths that a migration names, in their order. */
export const includesOf = (text) => [...text.matchAll(INCLUDE)].map(([, path]) => path);

/** A migration's whole text. `read` is given the paths that it names. */
export async function expand(text, read) {
  const files = new Map();
  for (const path of includesOf(text)) files.set(path, await read(path));
  return text.replace(INCLUDE, (_, path) => files.get(path));
}

/** A migration's own text: all but what it names. */
export const withoutIncludes = (text) => text.replace(INCLUDE, '');

/** Every SQL file below a folder, by its path from there, sorted. */
export async function listSql(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.sql'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/**
 * A module whose text is that of the file, with the modules of the files that it names in their places. Comments of the first column stay
 * out: their characters need not be in the encoding of every database, whose own fault is told later, in a sentence.
 */
function moduleOf(source) {
  const text = source.replace(/^--.*\n/gm, '');
  const paths = includesOf(text);
  const imports = paths.map((path, i) => `import { sql as file${i} } from './${path}';`);
  const parts = text
    .split(INCLUDE)
    .map((part, i) => (i % 2 === 0 ? JSON.stringify(part) : `file${(i - 1) / 2}`));
  return `${imports.join('\n')}\nexport const sql = ${parts.join(' + ')};`;
}

/** For rolldown and for vite. Every file is a module of its own, so that both notice when one changes. */
export const sqlModules = {
  name: 'sql-modules',
  async load(id) {
    if (!id.endsWith('.sql')) return null;
    return { code: moduleOf(await readFile(id, 'utf8')), map: null, moduleType: 'js' };
  },
};
