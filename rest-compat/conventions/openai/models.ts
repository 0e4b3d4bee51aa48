import type { Model } from 'openai/resources/models';
import { ApiError } from '../../../src/contract/errors.js';
import { showModelInfo, showModelPage } from '../anthropic/models.js';
import type { JsonSchema, RespondRequest, Route } from '../../shared/route.types.js';

const MODEL = `
  id object created owned_by: ownedBy name context_window: contextWindow max_output_tokens: maxOutputTokens
  modalities { input output } available`;

/** A model in the form of these rows' documents. */
export interface FoundModel {
  id: string;
  created: number;
  owned_by: string;
  name: string;
  context_window: number | null;
  max_output_tokens: number | null;
  modalities: { input: string[]; output: string[] };
  available: boolean;
}

const showModel = ({ id, created, owned_by }: FoundModel): Model => ({
  id,
  object: 'model',
  created,
  owned_by,
});

function listAnswer(body: unknown, { convention, query }: RespondRequest) {
  const found = body as FoundModel[];
  if (convention === 'anthropic') return { body: showModelPage(found, new URLSearchParams(query)) };
  return { body: { object: 'list', data: found.map(showModel) } };
}

/** A model whose provider is not configured cannot be called, so clients of the conventions do not see it. */
function modelAnswer(body: unknown, { convention }: RespondRequest) {
  const found = body as FoundModel;
  if (!found.available) throw new ApiError('not_found', 'Model not found', { reason: 'model_not_found' });
  return { body: convention === 'anthropic' ? showModelInfo(found) : showModel(found) };
}

const MODEL_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    object: { type: 'string', const: 'model' },
    created: { type: 'integer' },
    owned_by: { type: 'string' },
  },
  required: ['id', 'object', 'created', 'owned_by'],
};

export const modelRoutes: Route[] = [
  {
    method: 'GET',
    path: '/models',
    operationId: 'listModels',
    tag: 'Models',
    summary: 'List the models that the key may call',
    description:
      "Available models of the key's scopes and of the tiers that its plan allows, and aliases of these. With the header `anthropic-version` the answer has the form of that convention, in pages (`limit`, `after_id`, `before_id`).",
    document: `query { body: callableModels { ${MODEL} } }`,
    respond: listAnswer,
    describe: () => ({
      type: 'object',
      properties: { object: { type: 'string', const: 'list' }, data: { type: 'array', items: MODEL_SCHEMA } },
      required: ['object', 'data'],
    }),
    schemaName: 'ModelList',
  },
  {
    method: 'GET',
    path: '/models/{id+}',
    operationId: 'getModel',
    tag: 'Models',
    summary: 'Read a model',
    document: `query ($id: ID!) { body: model(id: $id) { ${MODEL} } }`,
    parameters: {
      id: {
        description: "The model's id, including slashes, or an alias of it.",
        example: 'sandbox/chat-basic',
      },
    },
    modelVariable: 'id',
    respond: modelAnswer,
    describe: () => MODEL_SCHEMA,
    schemaName: 'Model',
  },
];
