import type { Principal } from '../../access/access.types.js';
import { KIND } from '../../contract/words.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { isCallable } from './checks.js';

/** A model's name that a key may use. */
export interface CallableModel {
  /** The model's id, or an alias of it. */
  name: string;
  model: Model;
}

/** The models that a key may call: available, allowed by its scopes, its models and its plan's tiers; first by id, then by alias. */
export function callableModels(
  models: ModelCatalogue,
  caller: Pick<Principal, 'scopes' | 'plan' | 'models'>,
): CallableModel[] {
  const named = [
    ...models.list({ available: true }).map((model) => ({ name: model.id, model })),
    ...models.aliases().map(({ alias, model }) => ({ name: alias, model })),
  ];
  return named.filter(({ model }) => caller.scopes.has(KIND[model.type].scope) && isCallable(caller, model));
}
