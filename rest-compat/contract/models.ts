import type { Route } from '../shared/route.types.js';

const MODEL = `
  id object created owned_by: ownedBy name type tier multiplier pricing { unit bucket amount credits }
  context_window: contextWindow max_output_tokens: maxOutputTokens modalities { input output } default available`;

/** Types of models that the contract does not know (decisions 6); the list has them only on request. */
const LATER_TYPES: ReadonlySet<unknown> = new Set(['rerank']);

const contractList: Route['respond'] = (body, { query }) => {
  const models = body as unknown as { type: string }[];
  const isAsked = new URLSearchParams(query).has('type');
  return { body: { object: 'list', data: models.filter(({ type }) => isAsked || !LATER_TYPES.has(type)) } };
};

export const modelRoutes: Route[] = [
  {
    method: 'GET',
    path: '/models',
    operationId: 'listModels',
    tag: 'Models',
    summary: 'List the models with prices and availability',
    document: `query ($type: ModelType, $provider: String, $tier: ModelTier, $available: Boolean) {
      body: models(type: $type, provider: $provider, tier: $tier, available: $available) { ${MODEL} }
    }`,
    parameters: {
      type: { description: 'Only models of this type. Without it models of type `rerank` are not listed.' },
      provider: { description: 'Only models of this provider.', example: 'sandbox' },
      tier: { description: 'Only models of this tier.' },
      available: { description: 'true: only available models. false: only the others.' },
    },
    respond: contractList,
    describe: (schema) => ({
      type: 'object',
      properties: { object: { type: 'string', const: 'list' }, data: schema },
      required: ['object', 'data'],
    }),
    schemaName: 'ModelList',
  },
  {
    method: 'GET',
    path: '/models/{provider}/{name+}',
    operationId: 'getModel',
    tag: 'Models',
    summary: 'Read a model',
    document: `query ($id: ID!) { body: model(id: $id) { ${MODEL} } }`,
    parameters: {
      provider: { description: "The provider's id.", example: 'sandbox' },
      name: { description: "The model's name; it may contain slashes.", example: 'chat-basic' },
    },
    pathVariables: ({ provider, name }) => ({ id: name === '' ? provider : `${provider}/${name}` }),
    schemaName: 'Model',
  },
];
