import type { GraphQLField } from 'graphql';
import { Extensions } from 'type-graphql';
import { notForTokens, requireAccess } from '../src/access/index.js';
import type { AccessRequirement } from '../src/access/index.js';
import { ApiError } from '../src/contract/errors.js';
import { admitCall, modelFor } from '../src/generation/index.js';
import type { CallContext } from '../src/metering/call-context.js';
import type { Services } from '../src/services.js';
import { endpointOf, KIND } from '../src/contract/words.js';
import type { MemberRole, ModelType, Scope as ScopeName } from '../src/contract/words.js';
import type { GraphqlContext } from './context.js';

/**
 * What a root field demands before its resolver runs. It stands in the field's extensions (`penstock`), once, and holds for REST, GraphQL
 * and WebSocket alike.
 */
export interface FieldGuard {
  /** Null: any valid key. */
  scope: ScopeName | null;
  /** The kind of generation: its window, where it has one, is taken together with the key's. */
  kind?: ModelType;
  /** The least role of a signed-in person; default: member where something is changed or charged, else viewer. */
  role?: MemberRole;
  /** True where keys are refused: people only. */
  people?: true;
  /** True where the service makes the one admission statement itself (generations, chat, embeddings). */
  admittedByService: boolean;
}

const closed = new WeakSet<FieldGuard>();

/** Closes a root field to client tokens that are bound to one object; at build time. */
export function closeToBound(guard: FieldGuard): void {
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

/**
 * Declares a root field whose service admits the call: windows, plan, validation and reservation in the order of decisions 1. A kind of
 * generation says its scope and its window itself; an agent's run has neither a window nor a kind.
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
 * Takes the call's slot of its key's window, once, however many fields ask at the same time.
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

/** Gives back what {@link takeKeySlot} took, for a call that step 4 then refused after all (decisions 1); once. */
export async function returnKeySlot({ metering }: Services, call: CallContext): Promise<void> {
  const { keySlotAt: takenAt, principal } = call;
  if (takenAt === undefined) return;
  delete call.keySlotAt;
  await metering.returnSlots({ principal, keyWindow: true, takenAt });
  const { rate } = call;
  if (rate?.takenAt === takenAt) call.rate = { ...rate, remaining: rate.remaining + 1 };
}

/**
 * The guard of a row's field, before REST reads the body. It runs once for a call: the row's own resolver finds in the context that it has
 * passed.
 */
export function enterEarly(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  const passing = enforce(guard, context);
  context.passed = guard;
  return passing;
}

/** The guard of a root field, before its resolver. */
export function enter(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  const { passed } = context;
  const hasPassed =
    passed !== undefined &&
    passed.scope === guard.scope &&
    passed.role === guard.role &&
    passed.people === guard.people &&
    passed.admittedByService === guard.admittedByService;
  return hasPassed ? undefined : enforce(guard, context);
}

/** The check of scope and rate (steps 3 and 4 of decisions 1). */
function enforce(guard: FieldGuard, context: GraphqlContext): void | Promise<void> {
  if (guard.scope !== null) requireScope(context.call, guard.scope);
  const { person, userId, token } = context.call.principal;
  if (token != null && token.bound !== null && closed.has(guard)) throw notForTokens();
  // Of a key a role demands nothing that its retry could lack.
  if (guard.people || (guard.role !== undefined && (person ?? token) !== undefined))
    requireScope(context.call, `${guard.people ? 'people' : 'role'}:${guard.role ?? 'viewer'}`);
  // Their answers depend on who asks: a link that an owner may make, their own address.
  if (person !== undefined) requireScope(context.call, `person:${userId}`);
  if (guard.admittedByService || !context.call.keyWindowOpen) return undefined;
  return takeKeySlot(context.services, context.call);
}

/**
 * The slots of all windows that a field counts against: the key's, and the endpoint's where it has one; then the plan, where a whole scope needs
 * one, and the tier of the model that a body asks for. (Steps 4 and 5 of decisions 1, for faults that are told before the field runs.)
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
