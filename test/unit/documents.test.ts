import { buildSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { documentFaults } from '../../scripts/check-documents.mjs';

const schema = buildSchema('type Query { agent(id: ID!): Agent } type Agent { id: ID! name: String }');

describe('the check of documents', () => {
  it.each([
    // not in the schema: this file's own schema has its types
    ['a renamed field', 'query { agent(id: "a") { title } }'],
    // not in the schema: this file's own schema has its types
    ['a renamed root field', '{ assistant(id: "a") { id } }'],
    // not in the schema: this file's own schema has its types
    ['a variable of another type', 'query ($id: Int!) { agent(id: $id) { id } }'],
    // not in the schema: this file's own schema has its types
    ['a fragment on a type that is gone', 'fragment part on Assistant { id }'],
  ])('finds %s', (_what, text) => {
    expect(documentFaults(schema, text)).not.toEqual([]);
  });

  it.each([
    ['a document that fits', 'query ($id: ID!) { agent(id: $id) { id } }'],
    ['a fragment alone', 'fragment part on Agent { id }'],
    ['a selection that is put into documents', '{ id name }'],
    ['prose', 'query (of a kind) that is no document'],
    ['JSON', '{ "id": 1 }'],
  ])('passes %s', (_what, text) => {
    expect(documentFaults(schema, text)).toEqual([]);
  });
});
