import type { GraphQLField } from 'graphql';
import { Extensions } from 'type-graphql';
import { forbiddenForTokens, requireAccess } from '../src/access/index.js';
import type { AccessRequirement } from '../src/access/index.js';
import { ApiError } from '../src/contract/errors.js';
import { admitCall, modelFor } from '../src/generation/index.js';
import type { CallContext } from '../src/metering/call-context.js';
import type { Services } from '../src/services.js';
import { endpointOf, KIND } from '../src/contract/words.js';
import type { MemberRole, ModelType, Scope as ScopeName } from '../src/contract/words.js';
import type { GraphqlContext } from './context.js';

/**
 * The requirements of a root field before its resolver runs. They are in the field's extensions (`penstock`) and apply to REST, GraphQL
 * and WebSocket.
 */
export interface FieldGuard {
  /** Null: any valid key. */
  scope: ScopeName | null;
  /** The kind of generation. A slot of its window, if it has one, is taken together with a slot of the key's window. */
  kind?: ModelType;
  /** The minimum role of a signed-in person; default: member if the field changes or charges something, else viewer. */
  role?: MemberRole;
  /** True if only people may use it, not keys. */
  people?: true;
  /** True if only operators of the installation may use it. */
  operator?: true;
  /** True if the service itself sends the admission statement (generations, chat, embeddings). */
  admittedByService: boolean;
}

const closed = new WeakSet<FieldGuard>();

/** Closes a root field to client tokens that are bound to one object; at build time. */
export function denyBoundTokens(guard: FieldGuard): void {
  closed.add(guard);
}

const OPEN: FieldGuard = { scope: null, admittedByService: false };

/** Declares the scope that a root field needs; the field's slot of the key's window is taken before its resolver runs. */
export function Scope(scope: ScopeName, role?: MemberRole): MethodDecorator {
  const guard: FieldGuard = { scope, ...(role ? { role } : {}), admittedByService: false };
  return Extensions({ penstock: guard });
}

/** Declares a root field for signed-in people of at least this role (decisions 5). */
export function People(role: MemberRole): MethodDecorator {
  return Extensions({
    penstock: { scope: null, role, people: true, admittedByService: false } satisfies FieldGuard,
  });
}

/** Declares a root field for signed-in operators of the installation, whatever their role in the organisation. */
export function Operators(): MethodDecorator {
  return Extensions({
    penstock: {
      scope: null,
      role: 'viewer',
      people: true,
      operator: true,
      admittedByService: false,
    } satisfies FieldGuard,
  });
}

/**
 * Declares a root field whose service admits the call: windows, plan, validation and reservation in the order of decisions 1. A kind of
 * generation defines its scope and its window; an agent's run has neither a window nor a kind.
 */
export function Metered(what: ModelType | 'agents'): MethodDecorator {
  const guard: FieldGuard =
    what === 'agents'
      ? { scope: what, admittedByService: true }
      : { scope: KIND[what].scope, kind: what, admittedByService: true };
  return Extensions({ penstock: guard });
}

/** The guard of a root field of the built schema. */
export function guardOf(field: Pick<GraphQLField<unknown, unknown>, 'extensions'>): FieldGuard {
  return (field.extensions['penstock'] as FieldGuard | undefined) ?? OPEN;
}

/** @throws ApiError forbidden */
export function requireScope(call: CallContext, scope: AccessRequirement): void {
  requireAccess(call.principal, scope);
  const met = call.accessRequirements;
  if (met === undefined) call.accessRequirements = [scope];
  else if (!met.includes(scope)) call.accessRequirements = [...met, scope];
}

/** The plan comes before the arguments (decisions 1). @throws ApiError plan_required */
export function requireAgents({ principal }: CallContext): void {
  if (principal.plan.agents === null) throw new ApiError('plan_required', 'AI Agents are not available');
}

/** @throws ApiError plan_required */
export function requireWebhooks({ principal }: CallContext): void {
  if (principal.plan.webhooks === null) throw new ApiError('plan_required', 'Webhooks are not available');
}

const taking = new WeakMap<CallContext, Promise<void>>();

/**
 * Takes the call's slot of its key's window, only once for any number of fields.
 * @throws ApiError rate_limited, unauthorized (a key revoked meanwhile)
 */
export function takeKeySlot(services: Services, call: CallContext): Promise<void> {
  if (!call.keyWindowOpen) return taking.get(call) ?? Promise.resolve();
  call.keyWindowOpen = false;
  const taken = services.metering
    .admit({ principal: call.principal, requestId: call.requestId, client: call.client, keyWindow: true })
    .then(({ rate }) => {
      call.rate = rate;
      if (rate?.takenAt !== undefined) call.keySlotAt = rate.takenAt;
    });
  taking.set(call, taken);
  return taken;
}

/** Returns the slot of {@link takeKeySlot}, for a call that step 4 refuses later (decisions 1); once. */
export async function returnKeySlot({ metering }: Services, call: CallContext): Promise<void> {
  const { keySlotAt: takenAt, principal } = call;
  if (takenAt === undefined) return;
  delete call.keySlotAt;
  await metering.returnSlots({ principal, keyWindow: true, takenAt });
  const { rate } = call;
  if (rate?.takenAt === takenAt) call.rate = { ...rate, remaining: rate.remaining + 1 };
}

/**
 * The guard of a row's field, before REST reads the body. It runs once for a call: the context records that it has passed, for the row's
 * own resolver.
 */
export function guardBeforeBody(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  const passing = enforce(guard, context);
  context.passed = guard;
  return passing;
}

/** The guard of a root field, before its resolver. */
export function guardRootField(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  const { passed } = context;
  const hasPassed =
    passed !== undefined &&
    passed.scope === guard.scope &&
    passed.role === guard.role &&
    passed.people === guard.people &&
    passed.operator === guard.operator &&
    passed.admittedByService === guard.admittedByService;
  return hasPassed ? undefined : enforce(guard, context);
}

/** The check of scope and rate (steps 3 and 4 of decisions 1). */
function enforce(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  if (guard.scope !== null) requireScope(context.call, guard.scope);
  const { person, userId, token } = context.call.principal;
  if (token != null && token.bound !== null && closed.has(guard)) throw forbiddenForTokens();
  // A role requires nothing of a key, so its retry cannot lack it.
  if (guard.people || (guard.role !== undefined && (person ?? token) !== undefined))
    requireScope(context.call, `${guard.people ? 'people' : 'role'}:${guard.role ?? 'viewer'}`);
  // Their answers depend on the person, such as a link that only an owner may create.
  if (person !== undefined) requireScope(context.call, `person:${userId}`);
  if (guard.operator) return requireOperator(context).then(() => takeKeySlot(context.services, context.call));
  if (guard.admittedByService || !context.call.keyWindowOpen) return undefined;
  return takeKeySlot(context.services, context.call);
}

/** Checked for each call, so that a removed operator is refused immediately. @throws ApiError forbidden */
async function requireOperator({ call, services }: GraphqlContext): Promise<void> {
  if (!(await services.operator.operatorRegistry.includes(call.principal)))
    throw new ApiError('forbidden', 'Only operators may do this');
}

/**
 * The slots of all windows that a field counts against: the key's, and the endpoint's if it has one. Then checks the plan, if a whole scope
 * needs one, and the tier of the model in the body. (Steps 4 and 5 of decisions 1, for errors that are thrown before the field runs.)
 * @throws ApiError rate_limited, plan_required, model_not_allowed, model_tier_not_allowed
 */
export async function takeFieldSlots(
  services: Services,
  { call, body }: { call: CallContext; body: Record<string, unknown> | null },
  guard: FieldGuard,
): Promise<void> {
  const endpoint = guard.kind === undefined ? undefined : endpointOf(guard.kind);
  if (endpoint === undefined) await takeKeySlot(services, call);
  else await admitCall(services.metering, call, { endpoint });
  if (guard.scope === 'agents') requireAgents(call);
  if (guard.scope === 'webhooks') requireWebhooks(call);
  const { models } = services;
  if (endpoint !== undefined && body !== null)
    modelFor(body, { models, caller: call.principal, type: endpoint });
}
