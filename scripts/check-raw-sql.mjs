/**
 * Holds ADR 12: SQL is written in `*.queries.ts` and in src/database, and the ADR's table says why for each of them. The table is read from the ADR itself,
 * so that the text and the rule are one.
 */
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ADR = 'docs/adr/0012-entities-in-the-control-plane-sql-where-it-is-the-mechanism.md';
const QUERIES = /\.queries\.ts$/;
const DATABASE = /^src\/database\//;
/** How a text that is a statement begins; what only mentions SQL in a sentence does not match. */
const STATEMENT =
  /(['"`])\s*(?:SELECT\s|INSERT INTO\s|UPDATE\s+\w+(?:\s+\w+)?\s+SET\s|DELETE FROM\s|WITH\s+(?:RECURSIVE\s+)?\w+(?:\s*\([^)]*\))?\s+AS\s|LISTEN\s|NOTIFY\s|CALL\s)/i;

/** @returns {boolean} whether a file holds a statement outside of its comments */
export function holdsSql(text) {
  return STATEMENT.test(text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, ''));
}

/** The files and folders (with a slash behind) of the ADR's table. */
export function placesOf(adr) {
  return [...adr.matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(([, place]) => place);
}

const covers = (place, file) => (place.endsWith('/') ? file.startsWith(place) : file === place);

/**
 * @param {{file: string, text: string}[]} sources @param {string[]} places
 * @returns {string[]} SQL where none may be, queries files without a reason, and reasons without SQL
 */
export function faultsOf(sources, places) {
  const withSql = sources.filter(({ file, text }) => !DATABASE.test(file) && holdsSql(text));
  const queries = sources.filter(({ file }) => QUERIES.test(file));
  return [
    ...withSql
      .filter(({ file }) => !QUERIES.test(file))
      .map(({ file }) => `${file}: SQL goes into a *.queries.ts, or use the entity manager (ADR 12)`),
    ...queries
      .filter(({ file }) => !places.some((place) => covers(place, file)))
      .map(({ file }) => `${file}: ${ADR} says why a statement is needed there; add a row`),
    ...places
      .filter((place) => !queries.some(({ file }) => covers(place, file)))
      .map((place) => `${ADR}: ${place} holds no SQL any more, remove its row`),
  ];
}

/** @returns {Promise<string[]>} every breach of ADR 12 */
export async function checkRawSql() {
  const entries = await readdir(join(root, 'src'), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
  const sources = await Promise.all(
    paths.map(async (path) => ({
      file: relative(root, path).split(sep).join('/'),
      text: await readFile(path, 'utf8'),
    })),
  );
  return faultsOf(sources, placesOf(await readFile(join(root, ADR), 'utf8')));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = await checkRawSql();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
