import { gzipSync } from 'node:zlib';
import type { Ask, Dialect } from './dialects.js';

/** What it is, the request, and the statuses that may answer it. */
export type HostileBody = [string, { body: unknown; headers?: Record<string, string> }, number[]];

/** Packed once: packing 64 MB takes a quarter of a second, and every dialect is sent them. */
const BOMB = gzipSync(Buffer.alloc(64 << 20));

/** Bodies that a dialect must refuse (trust 2). @param small a call that hurts nobody */
export function hostileBodies(dialect: Dialect, small: Ask): HostileBody[] {
  const text = (body: object) => JSON.stringify(body);
  const whole = dialect.body(small);
  return [
    ['cut JSON', { body: text(whole).slice(0, -1) }, [400]],
    ...['', '[]', 'null', '7', '"x"', '{"a":1}{'].map(
      (body) => [body, { body }, [400]] as [string, { body: unknown }, number[]],
    ),
    ['another type', { body: text(whole), headers: { 'content-type': 'text/plain' } }, [415]],
    [
      'a charset',
      { body: text(whole), headers: { 'content-type': 'application/json; charset=utf-16' } },
      [415],
    ],
    ['an encoding', { body: text(whole), headers: { 'content-encoding': 'zstd' } }, [415]],
    ['bytes that are no UTF-8', { body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]) }, [400]],
    ['what is no gzip', { body: Buffer.from('junk'), headers: { 'content-encoding': 'gzip' } }, [400, 415]],
    ['a bomb', { body: BOMB, headers: { 'content-encoding': 'gzip' } }, [413, 415]],
    ['depth', { body: `${'[['.repeat(50_000)}${']]'.repeat(50_000)}` }, [400]],
    ...(dialect.isTextless
      ? []
      : ([
          ['NUL', { body: dialect.body({ ...small, text: 'a\u0000b' }) }, [400]],
          ['half a character', { body: text(whole).replace('hello', '\\ud800') }, [400]],
        ] as HostileBody[])),
    ...[7, [], {}, 'constructor', '__proto__', 'x'.repeat(10_000), '../models'].map(
      (model) => [`model ${text({ model }).slice(0, 40)}`, { body: { ...whole, model } }, [400]] as never,
    ),
    ...[null, 7, {}, true, [], [null], [7.5], [{}]].map(
      (value) =>
        [
          `${dialect.textField} ${JSON.stringify(value)}`,
          { body: { ...whole, [dialect.textField]: value } },
          [400],
        ] as never,
    ),
    ...Object.entries(dialect.numbers).flatMap(([field, values]) => [
      ...values.map(
        (value) =>
          [`${field} ${JSON.stringify(value)}`, { body: { ...whole, [field]: value } }, [400]] as never,
      ),
      [
        `${field} 1e400`,
        { body: `{"${field}":1e400,${text({ ...whole, [field]: undefined }).slice(1)}` },
        [400],
      ] as never,
    ]),
  ];
}
