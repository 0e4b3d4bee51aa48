import { describe, expect, it } from 'vitest';
import { spliceObject, topLevelMembers } from '../../src/providers/openai-compatible/json-splice.js';

describe('splicing a JSON object', () => {
  it('exchanges one value and leaves every other byte as it came', () => {
    const text =
      '{ "id":"x\\"model\\":1", "n":1.50e3,"model" : "up/1" ,"nested":{"model":"inner","a":[1,{"b":"]}"}]},"e":[]}';
    const spliced = spliceObject(text, { model: '"acme/1"' });
    expect(JSON.parse(spliced)).toEqual({ ...(JSON.parse(text) as object), model: 'acme/1' });
    expect(spliced).toContain('"n":1.50e3');
    expect(spliced).toContain('"nested":{"model":"inner","a":[1,{"b":"]}"}]}');
  });

  it('adds what is missing and takes out what must go', () => {
    expect(JSON.parse(spliceObject('{}', { a: '1', b: null }))).toEqual({ a: 1 });
    expect(JSON.parse(spliceObject('{"b":[{}],"c":":,"}', { a: '1', b: null }))).toEqual({ a: 1, c: ':,' });
    expect(JSON.parse(spliceObject('{"b":1}', { b: null }))).toEqual({});
    expect(JSON.parse(spliceObject('{"b":1,"c":2,"b":3}', { b: '7' }))).toEqual({ b: 7, c: 2 });
  });

  it('finds members whatever their values hold', () => {
    const values: unknown[] = [
      '',
      'a:b',
      '\\',
      '"',
      '\\"',
      0,
      -1.5,
      true,
      false,
      null,
      [],
      {},
      [[{ a: '}' }]],
      { b: ':' },
    ];
    for (const first of values) {
      for (const second of values) {
        for (const indent of [0, 2]) {
          const text = JSON.stringify({ 'k"1': first, model: second, ':{': first }, null, indent);
          const found = topLevelMembers(text).map((m) => [
            m.key,
            JSON.parse(text.slice(m.valueStart, m.end)) as unknown,
          ]);
          expect(Object.fromEntries(found)).toEqual(JSON.parse(text));
        }
      }
    }
  });
});
