import { describe, expect, it } from 'vitest';
import { buildPenstockSchema, guardOf } from '../../schema/index.js';

describe('the schema', () => {
  const schema = buildPenstockSchema();

  it('declares the scope of a field once, in its extensions', () => {
    const guard = guardOf(schema.getQueryType()!.getFields()['quota']!);
    expect(guard).toEqual({ scope: 'usage', admittedByService: false });
  });
});
