import { printApi } from '../../rest-compat/index.js';
import { buildPenstockSchema, printPenstockSchema } from '../../schema/index.js';
import { subscriptionResolvers } from './subscription-resolvers.js';

/** The published contracts as the code has them, by their paths in the repository (`npm run contracts` writes them). */
export function renderContracts(): Promise<Record<string, string>> {
  const options = { resolvers: subscriptionResolvers };
  return Promise.resolve({
    'schema/schema.graphql': printPenstockSchema(options),
    'schema/openapi.json': printApi(buildPenstockSchema(options)),
  });
}
