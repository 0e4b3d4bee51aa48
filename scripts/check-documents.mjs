/**
 * GraphQL documents that stand in tests, the bench, the client, the command line and the documentation fit the schema, so that a renamed field is found
 * without running them. A document is a string or template that parses as one; its interpolations are resolved where they are constants of
 * the same file or of a file that it imports, and a document with any other interpolation is left out.
 *
 * A document that is wrong on purpose says so beside it: `// not in the schema: why` in one of the two lines before.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  buildSchema,
  extendSchema,
  isObjectType,
  NoUnusedFragmentsRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { parseAst } from 'rolldown/parseAst';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const PATHS = ['test', 'bench', 'client', 'scripts', 'src/cli', 'docs/*.md', 'README.md', 'client/*.md'];
const CODE = /(?<!\.d)\.(ts|tsx|mjs|mts)$/;
const GENERATED = /\.generated\.ts$/;
const START = /^(?:\s|#[^\n]*\n)*(?:(?:query|mutation|subscription|fragment)\b\s*[\w({@]|\{)/;
const REASON = /^\s*(?:\/\/|\*) not in the schema: \S/;
const FENCE = /^ *```(\w*)\n([\s\S]*?)^ *```/gm;
const FRAGMENT_RULES = specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule);
/** What the served schema has beside the published one: the fields that a composed graph asks every subgraph for, and `node`. */
const SERVED = `
  scalar _Any
  type _Service { sdl: String }
  interface Node { id: ID! }
  extend type Query { _entities(representations: [_Any!]!): [_Entity]! _service: _Service! node(id: ID!): Node }`;

/** Every string and template of a syntax tree. */
function* textsIn(node) {
  if (Array.isArray(node)) for (const item of node) yield* textsIn(item);
  else if (node !== null && typeof node === 'object') {
    if (node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string'))
      yield node;
    for (const key of Object.keys(node)) yield* textsIn(node[key]);
  }
}

/** A file's top-level constants and the places of those that it imports from beside it. */
async function readModule(path, modules) {
  const known = modules.get(path);
  if (known !== undefined) return known;
  const code = await readFile(join(root, path), 'utf8').catch(() => '');
  const tree = parseAst(code, { lang: path.endsWith('x') ? 'tsx' : 'ts' });
  const found = { code, tree, path, constants: new Map(), imports: new Map() };
  modules.set(path, found);
  for (const statement of tree.body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type === 'VariableDeclaration' && declared.kind === 'const')
      for (const { id, init } of declared.declarations) found.constants.set(id.name, init);
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('.')) {
      const from = join(dirname(path), statement.source.value.replace(/\.js$/, '.ts'));
      for (const { local, imported } of statement.specifiers)
        if (imported !== undefined) found.imports.set(local.name, { from, name: imported.name });
    }
  }
  return found;
}

/** The text of an expression, or null where it is no constant. */
async function textOf(node, module, modules) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TSAsExpression') return textOf(node.expression, module, modules);
  if (node?.type === 'Identifier') {
    if (module.constants.has(node.name)) return textOf(module.constants.get(node.name), module, modules);
    const place = module.imports.get(node.name);
    if (place === undefined) return null;
    const other = await readModule(place.from, modules);
    return textOf(other.constants.get(place.name), other, modules);
  }
  if (node?.type !== 'TemplateLiteral') return null;
  let text = '';
  for (const [at, quasi] of node.quasis.entries()) {
    text += quasi.value.cooked;
    if (at === node.expressions.length) break;
    const part = await textOf(node.expressions[at], module, modules);
    if (part === null) return null;
    text += part;
  }
  return text;
}

function parsed(text) {
  if (!START.test(text)) return null;
  try {
    return parse(text);
  } catch {
    // Other text, or a syntax error, which the first run of the file shows.
    return null;
  }
}

/** Whether `{ id name }` is the selection of some type: such texts are put into documents. */
function isSelection(schema, { definitions: [first] }, text) {
  if (!text.trimStart().startsWith('{')) return false;
  const names = first.selectionSet.selections.map(({ name }) => name?.value);
  return Object.values(schema.getTypeMap()).some((type) => {
    if (!isObjectType(type) || names.some((name) => type.getFields()[name] === undefined)) return false;
    return validate(schema, parse(`fragment selection on ${type.name} ${text}`), FRAGMENT_RULES).length === 0;
  });
}

/** What a document asks for that the schema does not have, each as a message. */
export function documentFaults(schema, text) {
  const document = parsed(text);
  if (document === null) return [];
  if (
    document.definitions.some(({ kind }) => kind !== 'OperationDefinition' && kind !== 'FragmentDefinition')
  )
    return [];
  const alone = document.definitions.every(({ kind }) => kind === 'FragmentDefinition');
  const messages = validate(schema, document, alone ? FRAGMENT_RULES : specifiedRules).map(
    ({ message }) => message,
  );
  return messages.length > 0 && isSelection(schema, document, text) ? [] : messages;
}

const lineAt = (code, index) => code.slice(0, index).split('\n').length;

async function codeFaults(schema, path, modules) {
  const module = await readModule(path, modules);
  const lines = module.code.split('\n');
  const faults = [];
  for (const node of textsIn(module.tree.body)) {
    const start = node.type === 'Literal' ? node.value : node.quasis[0].value.cooked;
    if (start === null || !START.test(start)) continue;
    const line = lineAt(module.code, node.start);
    if (lines.slice(Math.max(0, line - 3), line - 1).some((before) => REASON.test(before))) continue;
    const text = await textOf(node, module, modules);
    if (text === null) continue;
    faults.push(...documentFaults(schema, text).map((message) => `${path}:${line}: ${message}`));
  }
  return faults;
}

/** Documents of a page: blocks of GraphQL, and the strings of blocks of code. */
function pageFaults(schema, path, text) {
  const faults = [];
  for (const { 1: language, 2: block, index } of text.matchAll(FENCE)) {
    const documents =
      language === 'graphql'
        ? [block]
        : [...block.matchAll(/`([^`$]+)`|'([^'\n]+)'/g)].map(([, a, b]) => a ?? b);
    for (const document of documents)
      faults.push(
        ...documentFaults(schema, document).map((message) => `${path}:${lineAt(text, index)}: ${message}`),
      );
  }
  return faults;
}

async function trackedFiles() {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-co', '--exclude-standard', ...PATHS], {
    cwd: root,
  }).catch(
    // No repository: a downloaded tree.
    () => ({ stdout: '' }),
  );
  return [...new Set(stdout.split('\n'))].filter((path) => !GENERATED.test(path));
}

async function readSchema() {
  const sdl = await readFile(join(root, 'schema', 'schema.graphql'), 'utf8');
  const schema = buildSchema(sdl, { assumeValidSDL: true });
  const isEntity = (type) => type.astNode?.directives?.some(({ name }) => name.value === 'key');
  const objects = Object.values(schema.getTypeMap()).filter(isObjectType);
  const union = `union _Entity = ${objects.filter(isEntity).join(' | ')}`;
  const nodes = objects.filter((type) => String(type.getFields().id?.type) === 'ID!');
  const extensions = nodes.map((type) => `extend type ${type} implements Node`).join(' ');
  return extendSchema(schema, parse(`${SERVED} ${union} ${extensions}`), { assumeValidSDL: true });
}

/** @returns {Promise<{faults: string[]}>} what documents ask for that the schema does not have */
export async function checkDocuments() {
  const schema = await readSchema();
  const modules = new Map();
  const faults = [];
  for (const path of await trackedFiles()) {
    if (CODE.test(path)) faults.push(...(await codeFaults(schema, path, modules)));
    else if (path.endsWith('.md'))
      faults.push(...pageFaults(schema, path, await readFile(join(root, path), 'utf8')));
  }
  return { faults };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { faults } = await checkDocuments();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
