/**
 * What Penstock ships of others: `THIRD_PARTY_NOTICES.md`, and that its licences are ones that we may ship.
 *
 *   node scripts/licences.mjs           writes the notices (`npm run notices`)
 *   node scripts/licences.mjs --check   faults where a licence is not on the list, or the notices are not current
 *
 * Shipped is what `npm ci --omit=dev` installs, and GraphiQL, whose page a build puts into `dist/`. Packages of one platform alone are listed
 * without their text: only one of them is ever installed.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NOTICES = 'THIRD_PARTY_NOTICES.md';
/** Development packages whose code the build puts into what browsers load. */
const BUNDLED = ['graphiql', '@graphiql/toolkit', 'monaco-editor', 'monaco-graphql'];
/** Permissive ones, and weak copyleft of libraries that are used unchanged and can be replaced (LGPL, MPL). Never GPL or AGPL. */
const SHIPPED = new Set([
  '0BSD',
  'AFL-2.1',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSD-4-Clause',
  'Bitstream-Vera',
  'BlueOak-1.0.0',
  'ISC',
  'LGPL-2.1-or-later',
  'LGPL-3.0-or-later',
  'MIT',
  'MPL-2.0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);
/** Tools of development only, which nobody gets from us. */
const DEVELOPMENT = new Set([...SHIPPED, 'Elastic-2.0']);
/** What packages say in other words than SPDX's, or only in a file. */
const SAID_ELSEWHERE = {
  aac: 'LGPL-3.0-or-later',
  busboy: 'MIT',
  'dejavu-fonts-ttf': 'Bitstream-Vera',
  duck: 'BSD-2-Clause',
  'png-js': 'MIT',
  streamsearch: 'MIT',
};

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const licenceOf = (path, entry) => SAID_ELSEWHERE[nameOf(path)] ?? entry.license ?? 'none';

/** Whether an SPDX expression (`A`, `A AND B`, `(A OR B)`) can be met with the licences of a set. */
export function isAllowed(expression, allowed) {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((name) => allowed.has(name)));
}

/** The folder of `name` as code in the package at `from` finds it. */
function resolve(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('node_modules/') - 1, 0))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (path in packages) return path;
    if (at === '') return undefined;
  }
}

function needsOf(entry) {
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => entry.peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [...Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }), ...peers];
}

/** The folders of all packages that we ship, in order. */
function shippedOf(packages) {
  const shipped = new Set();
  const visit = (from, names) => {
    for (const name of names) {
      const path = resolve(packages, from, name);
      if (path === undefined || shipped.has(path)) continue;
      shipped.add(path);
      visit(path, needsOf(packages[path]));
    }
  };
  visit('', [...needsOf(packages['']), ...BUNDLED]);
  return [...shipped].sort();
}

const isOfOnePlatform = (entry) => Boolean(entry.os ?? entry.cpu ?? entry.libc);
const IS_LICENCE = /^(licen[cs]e|copying|notice|ofl)/i;

/** A package's own licence texts; empty where it has none, or is not installed here (optional packages of this platform alone). */
async function textsOf(path) {
  const names = await readdir(join(root, path)).catch(() => []);
  const files = names.filter((name) => IS_LICENCE.test(name) && !/\.(js|json|ts)$/.test(name)).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(root, path, name), 'utf8')));
  return texts.map((text) => text.replaceAll('\r', '').trim()).filter((text) => text !== '');
}

const IS_COPYRIGHT = /^\W*(copyright|\(c\)|©)[^]*?\d{4}|^\W*copyright (\(c\) )?[A-Z]/i;

/** A text without its copyright lines and line breaks: equal for two packages under the same words. */
function split(text) {
  const lines = text.split('\n');
  const copyright = lines.filter((line) => IS_COPYRIGHT.test(line)).map((line) => line.trim());
  const words = lines
    .filter((line) => !IS_COPYRIGHT.test(line))
    .join('\n')
    .trim();
  return {
    copyright,
    words,
    mark: words
      .replace(/[\s"'“”‘’*#>-]+/g, ' ')
      .trim()
      .toLowerCase(),
  };
}

/** `{words, packages: [title], copyright: [line]}` for each different text. */
async function groupsOf(paths, titleOf) {
  const groups = new Map();
  for (const path of paths) {
    for (const text of await textsOf(path)) {
      const { copyright, words, mark } = split(text);
      const group = groups.get(mark) ?? { words, packages: new Set(), copyright: new Set() };
      group.packages.add(titleOf(path));
      for (const line of copyright) group.copyright.add(line);
      groups.set(mark, group);
    }
  }
  return [...groups.values()];
}

async function render(packages) {
  const shipped = shippedOf(packages);
  const titleOf = (path) => `${packages[path].name ?? nameOf(path)} ${packages[path].version}`;
  const rows = shipped.map((path) => `| ${titleOf(path)} | ${licenceOf(path, packages[path])} |`);
  const portable = shipped.filter((path) => !isOfOnePlatform(packages[path]));
  const groups = await groupsOf(portable, titleOf);
  const sections = groups.map(({ words, packages: titles, copyright }) =>
    [
      `### ${[...titles].sort().join(', ')}`,
      '```text\n' + [...[...copyright].sort(), '', words].join('\n').trim() + '\n```',
    ].join('\n\n'),
  );
  return `# Third-party notices

Penstock itself is under the MIT licence (LICENSE). It is shipped with the packages below, each under its own licence. This file is generated by
\`npm run notices\`; do not edit it.

## Packages

| package | licence |
|---|---|
${[...new Set(rows)].join('\n')}

## Texts

${sections.join('\n\n')}
`;
}

async function lockedPackages() {
  return JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')).packages;
}

/** @returns {Promise<{faults: string[]}>} licences that are not on the list, and notices that are not current. */
export async function checkLicences() {
  const packages = await lockedPackages();
  const shipped = new Set(shippedOf(packages));
  const faults = Object.entries(packages)
    // The root, and our own workspaces, which it links to.
    .filter(([path, { link }]) => path.startsWith('node_modules/') && link !== true)
    .filter(([path, entry]) => !isAllowed(licenceOf(path, entry), shipped.has(path) ? SHIPPED : DEVELOPMENT))
    .map(
      ([path, entry]) =>
        `${path}: licence ${licenceOf(path, entry)} is not one that ${shipped.has(path) ? 'we ship' : 'development may use'}`,
    );
  const current = await readFile(join(root, NOTICES), 'utf8').catch(() => '');
  if (current !== (await render(packages)))
    faults.push(`${NOTICES} is not current: run \`npm run notices\` and commit it`);
  return { faults };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--check')) {
    const { faults } = await checkLicences();
    for (const fault of faults) console.error(fault);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } else {
    await writeFile(join(root, NOTICES), await render(await lockedPackages()));
  }
}
