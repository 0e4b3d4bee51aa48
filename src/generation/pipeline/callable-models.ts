import type { Principal } from '../../access/access.types.js';
import { KIND } from '../../contract/words.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { isTierAllowed } from './checks.js';

/** A name that a key may call a model by. */
export interface CallableModel {
  /** The model's id, or an alias of it. */
  name: string;
  model: Model;
}

/** The models that a key may call: available, allowed by its scopes and by its plan's tiers; first by id, then by alias. */
export function callableModels(
  models: ModelCatalogue,
  { scopes, plan }: Pick<Principal, 'scopes' | 'plan'>,
): CallableModel[] {
  const named = [
    ...models.list({ available: true }).map((model) => ({ name: model.id, model })),
    ...models.aliases().map(({ alias, model }) => ({ name: alias, model })),
  ];
  return named.filter(({ model }) => scopes.has(KIND[model.type].scope) && isTierAllowed(plan, model));
}
