import type { GraphQLSchema } from 'graphql';

/** What a document asks for that the schema does not have; none where the text is no document. */
export function documentFaults(schema: GraphQLSchema, text: string): string[];
