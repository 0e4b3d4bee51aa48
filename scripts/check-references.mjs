/**
 * References lead somewhere. Checked in code, tests, scripts and documents:
 *
 *  - `contract 4.3`, `decisions 6`, `beyond 13.3`, `trust 2`: a heading of docs/contract/ (api.md is the contract), or a numbered point below one;
 *  - `ADR 4`: a page of docs/adr/;
 *  - relative links of Markdown, with their `#heading`;
 *  - no reference names a rule book in another way (`decisions.md 6`), or a document outside the repository (`../shared/…`).
 */
import { readFile, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BOOKS = {
  contract: 'docs/contract/api.md',
  decisions: 'docs/contract/decisions.md',
  beyond: 'docs/contract/beyond.md',
  trust: 'docs/contract/trust.md',
};
const SKIPPED =
  /(^|\/)(node_modules|dist|coverage|\.git|\.data|\.cache)(\/|$)|^THIRD_PARTY_NOTICES\.md$|^scripts\/check-references\.mjs$|^test\/unit\/references\.test\.ts$/;
const READ = /\.(ts|tsx|mjs|md|sql|ya?ml|graphql|sh|css)$|(^|\/)Dockerfile$|^\.ci\/run$|^\.env\.example$/;
const BREAK = String.raw`(?:\s*\n\s*(?:\*|\/\/|--|#|>)?)?\s+`;
const REFERENCE = new RegExp(String.raw`\b(contract|decisions|beyond|trust|ADR)${BREAK}(\d+(?:\.\d+)*)`, 'g');
const OTHER_FORM =
  /(?<![\w-])(?:decisions|beyond|trust|design|stack|media)\.md\b|\b(?:contract )?api\.md \d|\.\.\/shared\/(?:spec|design|stack|media|trust|hooks)/;
const LINK = /(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g;

/** The files below a folder that are read, as paths from the root; folders of packages and results are not entered. */
async function listFiles(folder = '') {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const lists = await Promise.all(
    entries.map((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (SKIPPED.test(path)) return [];
      if (entry.isDirectory()) return listFiles(path);
      return READ.test(path) ? [path] : [];
    }),
  );
  return lists.flat().sort();
}

/** The numbers of a rule book's headings (`## 4. …`, `### 4.3 …`) and of the numbered points below them (`3. …` under `## 13.` is 13.3). */
export function numbersOf(text) {
  const numbers = new Set();
  let section = '';
  for (const line of text.split('\n')) {
    const heading = /^#{2,4} (\d+(?:\.\d+)*)\.? /.exec(line)?.[1];
    if (heading !== undefined) {
      numbers.add(heading);
      section = heading;
    }
    const point = /^(\d+)\. /.exec(line)?.[1];
    if (point !== undefined && section !== '') numbers.add(`${section}.${point}`);
  }
  return numbers;
}

async function readTargets() {
  const books = await Promise.all(
    Object.entries(BOOKS).map(async ([name, file]) => [
      name,
      numbersOf(await readFile(join(root, file), 'utf8')),
    ]),
  );
  const pages = await readdir(join(root, 'docs', 'adr'));
  const records = pages.map((page) => String(Number(page.slice(0, 4))));
  return new Map([...books, ['ADR', new Set(records)]]);
}

const lineOf = (text, index) => text.slice(0, index).split('\n').length;

function referenceFaults(file, text, targets) {
  const faults = [];
  for (const { 1: book, 2: number, index } of text.matchAll(REFERENCE)) {
    if (!targets.get(book).has(number))
      faults.push(`${file}:${lineOf(text, index)}: ${book} ${number} is nowhere`);
  }
  if (file.startsWith('docs/contract/') || file === 'CHANGELOG.md') return faults;
  text
    .replace(LINK, '')
    .split('\n')
    .forEach((line, at) => {
      const form = OTHER_FORM.exec(line)?.[0];
      if (form !== undefined)
        faults.push(`${file}:${at + 1}: write \`decisions 6\` and the like, not ${form.trim()}`);
    });
  return faults;
}

/** A heading's anchor as the usual renderers make it. */
const anchorOf = (heading) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (text) =>
  new Set([...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => anchorOf(heading)));

async function linkFaults(file, text) {
  const faults = [];
  const plain = text.replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, ' '));
  for (const { 1: link, index } of plain.matchAll(LINK)) {
    if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : join(dirname(file), path);
    const there = await stat(join(root, target)).catch(() => null);
    const at = `${file}:${lineOf(plain, index)}`;
    if (there === null) faults.push(`${at}: the link ${link} leads nowhere`);
    else if (anchor !== undefined && target.endsWith('.md')) {
      const anchors = anchorsOf(await readFile(join(root, target), 'utf8'));
      if (!anchors.has(anchor)) faults.push(`${at}: the link ${link} names no heading`);
    }
  }
  return faults;
}

/** @returns {Promise<{faults: string[], notes: string[]}>} every reference that does not resolve. */
export async function checkReferences() {
  const targets = await readTargets();
  const faults = [];
  for (const file of await listFiles()) {
    const text = await readFile(join(root, file), 'utf8');
    faults.push(...referenceFaults(file, text, targets));
    if (file.endsWith('.md')) faults.push(...(await linkFaults(file, text)));
  }
  return { faults };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { faults } = await checkReferences();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
