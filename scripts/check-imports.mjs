/**
 * Holds the layout of docs/architecture.md: imports run one way, modules of the engine meet only through their `index.ts` or a `*.types.ts`,
 * the environment is read in one file, only the composition root knows the sandbox, and nothing opens a connection to the outside but the
 * modules made for it.
 *
 * Works on the import statements alone (no compiler): comments and template text are removed first.
 */
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Modules of the engine, lowest first; a module imports only lower ones. Modules of one row do not import each other. */
const ENGINE = [
  ['collections'],
  ['disk', 'text'],
  ['contract', 'crypto', 'media', 'pricing'],
  ['config', 'processes', 'telemetry'],
  ['database'],
  ['audit'],
  ['events'],
  ['egress', 'imaging', 'audio', 'video'],
  ['files', 'providers', 'search'],
  ['sandbox'],
  ['models'],
  ['access'],
  ['metering'],
  ['usage'],
  ['idempotency'],
  ['jobs'],
  ['generation'],
  ['agents', 'webhooks'],
  ['operator'],
  ['http'],
  ['sign-in'],
  ['services'],
  ['boot'],
  ['main', 'cli'],
];
/** What a folder beside the engine may import of the repository, besides itself: folders, or single engine modules. */
const FACES = {
  schema: ['src'],
  subscriptions: ['src', 'schema'],
  'rest-compat': ['src/contract', 'src/config', 'src/http', 'src/idempotency/idempotency.types'],
  migrations: [],
  dashboard: [],
  graphiql: [],
};
/** Folders of single files that have nothing to do with each other: each is its own front door. */
const DRAWERS = /^src\/(collections|contract|crypto|disk|media|text)\//;
/** Declared exceptions, each with its reason. */
const EXCEPTIONS = [
  { from: 'src/database/', to: 'src/events/events.types', why: 'the database carries LISTEN/NOTIFY hints' },
  { from: 'src/database/', to: 'migrations/', why: 'it runs them' },
  {
    from: 'src/contract/',
    to: 'src/generation/kind',
    why: 'its words are derived from the kinds, which are data',
  },
  { from: 'src/boot/', to: '', why: 'the composition root knows all' },
  { from: 'src/main', to: '', why: 'starts the composition root' },
  { from: 'src/cli', to: '', why: 'a composition root of its own' },
];
/** Rooms that may open connections: callers' addresses (egress) and the operator's own upstreams (providers). */
const CONNECTING = ['src/egress/', 'src/providers/'];
/** The sandbox is a provider like any other: the engine knows it by that interface, and only the composition root makes it. */
const SANDBOX = 'src/sandbox/';
const SANDBOX_MAKERS = /^src\/(sandbox|boot)\//;
/** What runs in a visitor's browser. */
const BROWSER = ['src/boot/pages/', 'dashboard/', 'graphiql/'];
/** All that the dashboard takes of packages: whatever else it took, every visitor would load. */
const DASHBOARD_PACKAGES =
  /^(react|react-dom\/client|urql|wonka|markdown-to-jsx\/react|get-nonce|@urql\/exchange-graphcache|@penstock\/client(\/react|\/urql)?|@tanstack\/react-(router|table|virtual)|@radix-ui\/react-(dialog|dropdown-menu|tabs|toast))$/;
/** Types, which nobody loads. */
const DASHBOARD_TYPES = /^(react|gql\.tada|urql|@penstock\/client|@tanstack\/react-router)$/;
/** What everyone may take from the network modules: types, servers, names of statuses, address tests. */
const HARMLESS =
  /^(createServer|STATUS_CODES|METHODS|IncomingMessage|ServerResponse|Server|isIP|isIPv4|isIPv6|BlockList|SocketAddress)$/;
const NETWORK = /^(node:(http|https|http2|net|tls|dgram)|undici)$/;
/** Descriptors of kinds of generation: data, which even the lowest modules may read. */
const KINDS = /^src\/generation\/(kinds|kind\.types|[a-z_]+\/kind)\.ts$/;
const ENGINE_BANS = /^(graphql|type-graphql|graphql-.*|express|@apollo\/.*|@graphql-tools\/.*)$/;

const rankOf = new Map(ENGINE.flatMap((row, rank) => row.map((name) => [name, rank])));

async function sources() {
  const folders = ['src', ...Object.keys(FACES)];
  const lists = await Promise.all(
    folders.map((folder) =>
      readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch((error) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      }),
    ),
  );
  return lists
    .flat()
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

/** `{type, names, from}` of each static import or re-export, and of each dynamic import. */
function importsOf(text) {
  const found = [];
  const statement = /^\s*(?:import|export)\s+(type\s+)?([\w*{}\s,$]*?)\s*(?:from\s*)?['"]([^'"]+)['"]/gm;
  for (const [, type, names, from] of text.matchAll(statement)) {
    found.push({ type: type !== undefined, names: namesOf(names), from });
  }
  for (const [, from] of text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)) {
    found.push({ type: false, names: ['*'], from });
  }
  return found;
}

/** Names taken at run time: `type X` inside braces is left out. */
function namesOf(clause) {
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? '';
  const outside = clause
    .replace(/\{[^}]*\}/, '')
    .replaceAll(',', ' ')
    .trim();
  const inside = braces.split(',').map((name) => name.trim());
  return [
    ...inside.filter((name) => name !== '' && !name.startsWith('type ')).map((name) => name.split(/\s/)[0]),
    ...(outside === '' ? [] : [outside]),
  ];
}

/** The engine module that a file belongs to: `src/jobs/job.service.ts` → jobs, `src/contract/errors.ts` → errors. */
function moduleOf(file) {
  const [, first = ''] = file.split('/');
  return first.replace(/\.[a-z.]*tsx?$/, '');
}

function excepted(file, target) {
  return EXCEPTIONS.some((exception) => file.startsWith(exception.from) && target.startsWith(exception.to));
}

function checkEngine(file, target) {
  if (!target.startsWith('src/')) return `the engine imports nothing of ${target.split('/')[0]}/`;
  const [from, to] = [moduleOf(file), moduleOf(target)];
  if (from === to) return undefined;
  if (!rankOf.has(from)) return `module ${from} has no place in the order of scripts/check-imports.mjs`;
  if (!rankOf.has(to)) return `module ${to} has no place in the order of scripts/check-imports.mjs`;
  if (from !== 'services' && rankOf.get(to) >= rankOf.get(from))
    return `${from} may not import ${to}: the order runs the other way`;
  return undefined;
}

function checkFace(file, target) {
  const face = file.split('/')[0];
  if (target.startsWith(`${face}/`)) return undefined;
  const allowed = FACES[face].some((place) => target.startsWith(`${place}/`) || target === `${place}.ts`);
  return allowed ? undefined : `${face} may not import ${target}`;
}

/** Modules of the engine are entered through their front door. */
function checkDoor(file, target) {
  if (!/^src\/[^/]+\//.test(target) || DRAWERS.test(target)) return undefined;
  const entry = /^src\/(main|cli)\./.test(file) && target.startsWith('src/boot/');
  const same = entry || (file.startsWith('src/') && moduleOf(file) === moduleOf(target));
  if (
    same ||
    /\/(child-)?index\.ts$|\.types\.ts$|\.entity\.ts$|\/call-context\.ts$|^src\/generation\/kinds\.ts$/.test(
      target,
    )
  )
    return undefined;
  return `enter ${dirname(target)} through its index.ts, a *.types.ts or a *.entity.ts, not ${target}`;
}

function checkSandbox(file, target) {
  if (!target.startsWith(SANDBOX) || SANDBOX_MAKERS.test(file)) return undefined;
  return 'the sandbox is reached through the provider interface (src/providers): only src/boot imports it';
}

function checkRelative(file, specifier) {
  if (file.startsWith('migrations/') && specifier.endsWith('.sql')) return [];
  if (!/\.(js|json)$/.test(specifier)) return [`relative imports end in .js: ${specifier}`];
  const target = normalize(join(dirname(file), specifier))
    .split(sep)
    .join('/')
    .replace(/\.js$/, '.ts');
  const direction = excepted(file, target)
    ? undefined
    : file.startsWith('src/')
      ? checkEngine(file, target)
      : checkFace(file, target);
  return [direction, checkDoor(file, target), checkSandbox(file, target)].filter(
    (fault) => fault !== undefined,
  );
}

function checkPackage(file, { type, names, from }) {
  const faults = [];
  if (file.startsWith('dashboard/') && !(type ? DASHBOARD_TYPES : DASHBOARD_PACKAGES).test(from))
    faults.push(`${from}: the dashboard takes only what scripts/check-imports.mjs lists`);
  if (!type && NETWORK.test(from) && !CONNECTING.some((room) => file.startsWith(room))) {
    const harmful = names.filter((name) => !HARMLESS.test(name));
    if (harmful.length > 0)
      faults.push(`${harmful.join(', ')} of ${from}: connections are opened by src/egress or src/providers`);
  }
  const engine = file.startsWith('src/') && !/^src\/(boot\/|main\.|cli)/.test(file);
  if (engine && ENGINE_BANS.test(from)) faults.push(`${from}: the engine knows neither GraphQL nor Express`);
  return faults;
}

/** A descriptor takes types and other descriptors only: anything else would drag the engine into the words. */
function checkDescriptor(file, { type, from }) {
  if (!KINDS.test(file) || type || from.endsWith('/kind.js')) return [];
  return [`${from}: descriptors of kinds are data and import types only`];
}

function checkText(file, text) {
  const faults = [];
  if (/\bprocess\.env\b/.test(text) && file !== 'src/config/index.ts')
    faults.push('process.env is read in src/config/index.ts only');
  if (/^export default\b/m.test(text)) faults.push('no default exports');
  if (
    /(?:await|return|=>|[=(,?:])\s*fetch\(/.test(text) &&
    ![...CONNECTING, ...BROWSER].some((room) => file.startsWith(room))
  ) {
    faults.push('fetch(): go through src/egress');
  }
  return faults;
}

async function checkFile(file) {
  const text = withoutComments(await readFile(join(root, file), 'utf8'));
  const faults = checkText(file, text);
  for (const entry of importsOf(text)) {
    faults.push(...checkDescriptor(file, entry));
    faults.push(
      ...(entry.from.startsWith('.') ? checkRelative(file, entry.from) : checkPackage(file, entry)),
    );
  }
  return faults.map((fault) => `${file}: ${fault}`);
}

/** @returns {Promise<string[]>} every breach of the layout, as `file: what`. */
export async function checkImports() {
  return (await Promise.all((await sources()).map(checkFile))).flat();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = await checkImports();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
