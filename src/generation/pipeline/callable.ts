import type { Principal } from '../../access/access.types.js';
import type { ModelType, Scope } from '../../contract/words.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { isTierAllowed } from './checks.js';

/** The scope that calls models of a type (contract 4, decisions 5). */
const SCOPES: Record<ModelType, Scope> = {
  chat: 'chat',
  embedding: 'chat',
  image: 'image',
  image_edit: 'image',
  video: 'video',
  music: 'music',
  tts: 'tts',
  stt: 'stt',
};

/** A name that a key may call a model by. */
export interface CallableModel {
  /** The model's id, or an alias of it. */
  name: string;
  model: Model;
}

/** What a key may call: available models that a scope of it calls and its plan's tiers allow, by their ids and then by their aliases. */
export function callableModels(
  models: ModelCatalogue,
  { scopes, plan }: Pick<Principal, 'scopes' | 'plan'>,
): CallableModel[] {
  const named = [
    ...models.list({ available: true }).map((model) => ({ name: model.id, model })),
    ...models.aliases().map(({ alias, model }) => ({ name: alias, model })),
  ];
  return named.filter(({ model }) => scopes.has(SCOPES[model.type]) && isTierAllowed(plan, model));
}
