import {
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import type { GraphQLNamedType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildPenstockSchema, guardOf } from '../../schema/index.js';
import { subscriptionResolvers } from '../../src/boot/subscription-resolvers.js';

interface Described {
  name: string;
  description?: string | null | undefined;
}

/** A type with its fields, arguments and values, each under its full name. */
function partsOf(type: GraphQLNamedType): Described[] {
  const named = (owner: Described, part: Described) => ({ ...part, name: `${owner.name}.${part.name}` });
  if (isEnumType(type)) return [type, ...type.getValues().map((value) => named(type, value))];
  if (isInputObjectType(type))
    return [type, ...Object.values(type.getFields()).map((field) => named(type, field))];
  if (!isObjectType(type)) return [type];
  const fields = Object.values(type.getFields()).filter(({ name }) => !name.startsWith('_'));
  return [
    type,
    ...fields.flatMap((field) => {
      const whole = named(type, field);
      return [whole, ...field.args.map((argument) => named(whole, argument))];
    }),
  ];
}

describe('the schema', () => {
  const schema = buildPenstockSchema();

  it('says what every type, field, argument and word of it means', () => {
    const whole = buildPenstockSchema({ resolvers: subscriptionResolvers });
    const own = Object.values(whole.getTypeMap()).filter(
      (type) =>
        !isIntrospectionType(type) &&
        !isSpecifiedScalarType(type) &&
        !/^_|^(link|federation)__/.test(type.name),
    );
    expect(own.length).toBeGreaterThan(100);
    const silent = own.flatMap(partsOf).filter(({ description }) => !description?.trim());
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it('declares the scope of a field once, in its extensions', () => {
    const guard = guardOf(schema.getQueryType()!.getFields()['quota']!);
    expect(guard).toEqual({ scope: 'usage', role: 'viewer', admittedByService: false });
  });
});
