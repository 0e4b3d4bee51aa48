/**
 * Holds that whoever writes an app against `@penstock/client` reads in their editor what each of its exports is: every export, and every member of
 * an exported shape or class, has a TSDoc comment; what answers a promise says there what it fails with (`@throws`).
 */
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = join(root, 'client/src');
/** The package's addresses (`exports` of client/package.json). */
const ENTRIES = ['index.ts', 'react.ts', 'urql.ts', 'apollo.ts', 'ai-sdk.ts'];

async function parseModule(path) {
  const text = await readFile(path, 'utf8');
  return { path, text, body: parseAst(text, { lang: 'ts' }).body };
}

/** The comment that ends where a declaration begins. */
function commentOf({ text }, node) {
  const before = text.slice(0, node.start).trimEnd();
  if (!before.endsWith('*/')) return null;
  const start = before.lastIndexOf('/**');
  const comment = before.slice(start);
  // It ends once: else it is another's, and a comment of another kind stands between.
  return start !== -1 && comment.indexOf('*/') === comment.length - 2 ? comment : null;
}

const namesOf = (declaration) =>
  declaration.type === 'VariableDeclaration'
    ? declaration.declarations.map(({ id }) => id.name)
    : [declaration.id?.name];

/** What a module exports by names, or all of it: each export with the statement that declares it, wherever that is. */
async function exportsOf(path, wanted = null) {
  const module = await parseModule(path);
  const isWanted = (name) => wanted === null || wanted.includes(name);
  const found = [];
  for (const statement of module.body) {
    const { type, source, declaration, specifiers = [] } = statement;
    if (type === 'ExportAllDeclaration') found.push(...(await exportsOf(fileOf(path, source), wanted)));
    else if (type !== 'ExportNamedDeclaration') continue;
    else if (declaration != null)
      for (const name of namesOf(declaration))
        if (isWanted(name)) found.push({ module, name, statement, declaration });
        else continue;
    else if (source != null) {
      const names = specifiers.map(({ local }) => local.name).filter(isWanted);
      if (names.length > 0) found.push(...(await exportsOf(fileOf(path, source), names)));
    }
  }
  return found;
}

const fileOf = (from, { value }) => resolve(dirname(from), value.replace(/\.js$/, '.ts'));

/** The members of a shape or a class that its users see. */
function membersOf({ type, body, typeAnnotation }) {
  if (type === 'TSInterfaceDeclaration') return body.body;
  if (type === 'TSTypeAliasDeclaration' && typeAnnotation.type === 'TSTypeLiteral')
    return typeAnnotation.members;
  if (type === 'ClassDeclaration')
    return body.body.filter(
      ({ accessibility, kind }) => accessibility !== 'private' && kind !== 'constructor',
    );
  return [];
}

/** Whether it is called, and answers a promise. */
function isAwaited(node) {
  const answer = node.returnType ?? node.value?.returnType ?? node.typeAnnotation?.typeAnnotation?.returnType;
  return answer?.typeAnnotation?.typeName?.name === 'Promise';
}

const lineOf = ({ text }, { start }) => text.slice(0, start).split('\n').length;

/** @param sources another folder with the same entries, for tests. @returns {Promise<{faults: string[]}>} */
export async function checkClientDocs(sources = SOURCES) {
  const faults = new Set();
  const look = (module, node, { name, of }) => {
    const comment = commentOf(module, of);
    const place = `${relative(root, module.path)}:${lineOf(module, of)}: ${name}`;
    if (comment === null) faults.add(`${place} has no TSDoc`);
    else if (isAwaited(node) && !comment.includes('@throws'))
      faults.add(`${place} does not say what it fails with (@throws)`);
  };
  for (const entry of ENTRIES) {
    for (const { module, name, statement, declaration } of await exportsOf(join(sources, entry))) {
      look(module, declaration, { name, of: statement });
      for (const member of membersOf(declaration))
        look(module, member, { name: `${name}.${member.key?.name ?? '()'}`, of: member });
    }
  }
  return { faults: [...faults] };
}
