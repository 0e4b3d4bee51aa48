import type { Plan, Principal } from '../../access/access.types.js';
import { ApiError } from '../../contract/errors.js';
import { availableModel } from '../../models/index.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { KIND } from '../../contract/words.js';
import type { Dialect, ModelType } from '../../contract/words.js';
import type { GenerationKind } from '../generation.types.js';

/** Whether a plan allows a model's tier (decisions 3): edits, speech and transcription have tiers of their own. */
export function isTierAllowed(plan: Plan, model: Model): boolean {
  return plan.tiers[KIND[model.type].tiers].includes(model.tier);
}

const isAllowed = ({ models }: Pick<Principal, 'models'>, { id, provider }: Model): boolean =>
  models === null || models.includes(id) || models.includes(`${provider}/*`);

/**
 * Whether a key may call a model (beyond 13.4).
 * @throws ApiError model_not_allowed
 */
export function requireAllowed(caller: Pick<Principal, 'models'>, model: Model): void {
  if (isAllowed(caller, model)) return;
  throw new ApiError('model_not_allowed', 'Model not allowed for this key', { param: 'model' });
}

/** The caller's rights, which decide the allowed models. */
export type ModelCaller = Pick<Principal, 'plan' | 'models'>;

/** Whether the key and its plan allow a model. Fallbacks that are not allowed are skipped. */
export const isCallable = (caller: ModelCaller, model: Model): boolean =>
  isAllowed(caller, model) && isTierAllowed(caller.plan, model);

/**
 * The requested model, or its type's default, if the key may call it and the plan allows its tier (step 5 of decisions 1).
 * @throws ApiError model_not_allowed, model_tier_not_allowed, invalid_request for an unknown model
 */
export function modelFor(
  { model: requested, operation }: Record<string, unknown>,
  { models, caller, type }: { models: ModelCatalogue; caller: ModelCaller; type: ModelType },
): Model {
  const id = requested as string | null | undefined;
  const model = models.named(type, id, typeof operation === 'string' ? operation : undefined);
  requireAllowed(caller, model);
  if (!isTierAllowed(caller.plan, model))
    throw new ApiError('model_tier_not_allowed', 'Model tier not allowed', { param: 'model' });
  return availableModel(model); // A model that its provider lacks is a validation error, so it is checked after the plan.
}

/** A checked request, or the error that is thrown after its windows' slots are taken. */
export type Checked<Input> = { ok: true; model: Model; input: Input } | { ok: false; fault: ApiError };

/** Checks the plan, then the request (steps 5 and 6 of decisions 1), without effect. The first error in that order counts. */
export function checkRequest<Input>(
  kind: GenerationKind<Input>,
  body: Record<string, unknown>,
  context: { models: ModelCatalogue; caller: ModelCaller; dialect?: Dialect | undefined },
): Checked<Input> {
  try {
    const model = modelFor(body, { ...context, type: kind.name });
    return { ok: true, model, input: kind.parse(body, model, context.dialect) };
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, fault: error };
    throw error;
  }
}
