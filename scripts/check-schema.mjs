/** Lints the published schema by the rules `schema-recommended` of graphql-eslint, but for the exceptions that its configuration names. */
import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Kind, parse } from 'graphql';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The linter's own packages, installed where they are not yet. */
const TOOL = join(root, 'tools', 'schema-rules');
const SCHEMA = 'schema/schema.graphql';

/** What the schema's `@link` imports. */
const FEDERATION = `
  scalar link__Import
  scalar federation__FieldSet
  directive @link(url: String!, import: [link__Import]) repeatable on SCHEMA
  directive @key(fields: federation__FieldSet!, resolvable: Boolean = true) repeatable on OBJECT | INTERFACE
  directive @shareable repeatable on OBJECT | FIELD_DEFINITION
  directive @tag(name: String!) repeatable on FIELD_DEFINITION | INTERFACE | OBJECT | UNION | ARGUMENT_DEFINITION | SCALAR | ENUM | ENUM_VALUE | INPUT_OBJECT | INPUT_FIELD_DEFINITION`;

/** They name something of one of many kinds, or nothing: their ids may be null. */
const REFERENCES = ['AuditActor', 'AuditSubject'];

/**
 * Pages, parts of an object and answers are values: they have no identity, and caches keep them inside what holds them. What has an `id` is an
 * object, and the rule holds its id to `ID!`.
 */
function valueTypes(sdl) {
  return parse(sdl)
    .definitions.filter(({ kind }) => kind === Kind.OBJECT_TYPE_DEFINITION)
    .filter(({ fields }) => !fields.some(({ name }) => name.value === 'id'))
    .map(({ name }) => name.value);
}

async function loadTool() {
  const lock = join(TOOL, 'package-lock.json');
  const installed = join(TOOL, 'node_modules', '.installed-lock.json');
  if ((await readFile(installed, 'utf8').catch(() => null)) !== (await readFile(lock, 'utf8'))) {
    const shell = process.platform === 'win32';
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: TOOL, shell });
    await copyFile(lock, installed);
  }
  const require = createRequire(lock);
  const { ESLint } = require('eslint');
  const plugin = require('@graphql-eslint/eslint-plugin');
  return { ESLint, graphql: plugin.default ?? plugin };
}

function configuration(sdl, graphql) {
  const { rules } = graphql.configs['flat/schema-recommended'];
  const [level, conventions] = rules['@graphql-eslint/naming-convention'];
  return {
    files: [SCHEMA],
    plugins: { '@graphql-eslint': graphql },
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: [FEDERATION, SCHEMA] } },
    },
    rules: {
      ...rules,
      // The values of enums are the contract's own words, as REST has them (decisions 8).
      '@graphql-eslint/naming-convention': [
        level,
        { ...conventions, EnumValueDefinition: { requiredPattern: /^[a-z][A-Za-z0-9_]*$/ } },
      ],
      '@graphql-eslint/strict-id-in-types': [
        level,
        { exceptions: { types: [...valueTypes(sdl), ...REFERENCES] } },
      ],
      // `Quota.quotas` and `Embedding.embedding` are the contract's own words (contract 2.14, 4.12). The rule cannot except single fields.
      '@graphql-eslint/no-typename-prefix': 'off',
    },
  };
}

export async function checkSchema() {
  const sdl = await readFile(join(root, SCHEMA), 'utf8');
  const { ESLint, graphql } = await loadTool();
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: true,
    overrideConfig: configuration(sdl, graphql),
  });
  const [{ messages }] = await eslint.lintFiles([SCHEMA]);
  return {
    faults: messages.map(
      ({ line, message, ruleId }) => `${SCHEMA}:${line}: ${message} (${ruleId ?? 'parser'})`,
    ),
  };
}
