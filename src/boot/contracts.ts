import { stringify } from 'yaml';
import { printApi } from '../../rest-compat/index.js';
import { asyncApiDocument, buildPenstockSchema, printPenstockSchema } from '../../schema/index.js';
import { subscriptionResolvers } from './subscription-resolvers.js';

interface OpenApi {
  components: { schemas: { Job: Record<string, unknown> } };
}

/** The published contracts as the code has them, by their paths in the repository (`npm run contracts` writes them). */
export function renderContracts(): Promise<Record<string, string>> {
  const options = { resolvers: subscriptionResolvers };
  const openapi = printApi(buildPenstockSchema(options));
  const { Job } = (JSON.parse(openapi) as OpenApi).components.schemas;
  return Promise.resolve({
    'schema/schema.graphql': printPenstockSchema(options),
    'schema/openapi.json': openapi,
    'schema/asyncapi.yaml': stringify(asyncApiDocument(Job), {
      lineWidth: 140,
      aliasDuplicateObjects: false,
    }),
  });
}
