/** A call that code examples are made from. */
export interface Call {
  /** The path below the installation's address: `api/v1/images/generations`. */
  path: string;
  /** The GraphQL input. REST spells the names of the fields with underscores. */
  input: Readonly<Record<string, unknown>>;
  /** The GraphQL operation: its kind, its root field, the type of its input, and its selection. */
  graphql: { kind: 'mutation' | 'subscription'; field: string; inputType: string; selection: string };
  /** The method of OpenAI's client, if it has this call: `chat.completions.create`. */
  openai?: string;
}

export const LANGUAGES = ['curl', 'node', 'python', 'GraphQL'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Longer `data:` URLs are replaced by a placeholder: a real program reads the file from the disk. */
const LONG = 300;
const shorten = (value: unknown): unknown => {
  if (typeof value === 'string')
    return value.length > LONG && value.startsWith('data:')
      ? `${value.slice(0, value.indexOf(',') + 1)}<base64 of the file>`
      : value;
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shorten(one)]));
};

const underscored = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Only the top-level names are converted: deeper names already have the spelling of REST. */
const restBody = (input: Call['input']): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [underscored(name), shorten(value)]));

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);

/** Formats a JSON value as Python code. */
function python(value: unknown, depth = 1): string {
  const margin = '    '.repeat(depth);
  const end = '    '.repeat(depth - 1);
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (Array.isArray(value))
    return `[\n${value.map((one) => `${margin}${python(one, depth + 1)},\n`).join('')}${end}]`;
  if (typeof value === 'object')
    return `{\n${Object.entries(value)
      .map(([name, one]) => `${margin}${JSON.stringify(name)}: ${python(one, depth + 1)},\n`)
      .join('')}${end}}`;
  return JSON.stringify(value);
}

function curl({ path, input }: Call, address: string): string {
  const body = JSON.stringify(restBody(input), null, 2).replaceAll("'", String.raw`'\''`);
  return `curl ${address}${path} \\
  -H "Authorization: Bearer $PENSTOCK_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

/** The expression that reads the key in a Node.js program. It is split because the dashboard's own code must not read the environment. */
const NODE_KEY = ['process', 'env', 'PENSTOCK_API_KEY'].join('.');

function node({ path, input, openai }: Call, address: string): string {
  const body = JSON.stringify(restBody(input), null, 2);
  if (openai !== undefined)
    return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}v1', apiKey: ${NODE_KEY} });
const answer = await client.${openai}(${body});
console.log(answer);`;
  return `const answer = await fetch('${address}${path}', {
  method: 'POST',
  headers: {
    authorization: \`Bearer \${${NODE_KEY}}\`,
    'content-type': 'application/json',
  },
  body: JSON.stringify(${indented(body, '  ')}),
});
console.log(await answer.json());`;
}

function pythonCode({ path, input, openai }: Call, address: string): string {
  const body = restBody(input);
  if (openai !== undefined)
    return `import os
from openai import OpenAI

client = OpenAI(base_url="${address}v1", api_key=os.environ["PENSTOCK_API_KEY"])
answer = client.${openai}(
${Object.entries(body)
  .map(([name, value]) => `    ${name}=${python(value, 2)},`)
  .join('\n')}
)
print(answer)`;
  return `import os
import requests

answer = requests.post(
    "${address}${path}",
    headers={"Authorization": f"Bearer {os.environ['PENSTOCK_API_KEY']}"},
    json=${python(body, 2)},
)
print(answer.json())`;
}

function document({ graphql: { kind, field, inputType, selection }, input }: Call): string {
  const variables = JSON.stringify({ input: shorten(input) }, null, 2);
  return `${kind} ($input: ${inputType}!) {
  ${field}(input: $input) ${selection}
}

# variables
${variables}`;
}

/** The code of a call in a language. @param address the installation's address, with a slash at the end */
export function codeOf(call: Call, language: Language, address: string): string {
  if (language === 'curl') return curl(call, address);
  if (language === 'node') return node(call, address);
  if (language === 'python') return pythonCode(call, address);
  return document(call);
}
