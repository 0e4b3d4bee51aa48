import 'reflect-metadata';
import type { GraphQLField, GraphQLObjectType, GraphQLSchema } from 'graphql';
import { getNamedType, getNullableType } from 'graphql';
import type { PubSub } from 'type-graphql';
import { buildSchemaSync } from 'type-graphql';
import {
  AgentEdges,
  AgentMemoryEdges,
  AgentRunEdges,
  KnowledgeFileEdges,
} from './agent/agent-edges.resolver.js';
import { AgentResolver } from './agent/agent.resolver.js';
import { AgentRunResolver } from './agent/run.resolver.js';
import { ChatResolver } from './chat/chat.resolver.js';
import { actAs } from '../src/audit/index.js';
import { invalid } from '../src/contract/errors.js';
import type { CallContext } from '../src/metering/call-context.js';
import type { ActorContext } from '../src/audit/index.js';
import type { MemberRole } from '../src/contract/words.js';
import { ApiKeyResolver } from './api-key/api-key.resolver.js';
import { BudgetResolver } from './budget/budget.resolver.js';
import { CallerBudgetsResolver, KeySpendResolver } from './budget/caller.resolver.js';
import { AuditResolver } from './audit/audit.resolver.js';
import { bindingOf } from './bound.js';
import { ClientTokenResolver } from './client-token/client-token.resolver.js';
import type { GraphqlContext } from './context.js';
import { EmbeddingResolver } from './embedding/embedding.resolver.js';
import { EstimateResolver } from './estimate/estimate.resolver.js';
import { toSubgraph } from './federation/subgraph.js';
import { tagForAdmins } from './federation/tags.js';
import { denyBoundTokens, guardRootField, guardOf } from './guard.js';
import type { FieldGuard } from './guard.js';
import { truncateIds } from './ids.js';
import { ImageEditResolver } from './image-edit/image-edit.resolver.js';
import { ImageResolver } from './image/image.resolver.js';
import { JobEdges } from './job/job-edges.resolver.js';
import { JobResolver } from './job/job.resolver.js';
import { KnowledgeResolver } from './knowledge/knowledge.resolver.js';
import { MemberResolver } from './member/member.resolver.js';
import { MessageResolver } from './message/message.resolver.js';
import { ModelResolver } from './model/model.resolver.js';
import { ModerationResolver } from './moderation/moderation.resolver.js';
import { MusicResolver } from './music/music.resolver.js';
import { CallerResolver, OrganizationResolver } from './organization/organization.resolver.js';
import { OperatedOrganizationEdges } from './operator/operator-edges.resolver.js';
import { OperatorResolver } from './operator/operator.resolver.js';
import { QuotaResolver } from './quota/quota.resolver.js';
import { RerankResolver } from './rerank/rerank.resolver.js';
import { ResponseEdges, ResponseProgressResolver, ResponseResolver } from './response/response.resolver.js';
import { StorageResolver } from './storage/storage.resolver.js';
import { SpeechResolver } from './speech/speech.resolver.js';
import { TranscriptionResolver } from './transcription/transcription.resolver.js';
import { UploadResolver } from './upload/upload.resolver.js';
import { UsageRecordEdges, UsageRecordResolver } from './usage/usage-record.resolver.js';
import { UsageSummaryResolver } from './usage/usage-summary.resolver.js';
import { VersionResolver } from './version.resolver.js';
import { VideoResolver } from './video/video.resolver.js';
import { WebhookDeliveryEdges, WebhookOutcomesResolver } from './webhook/webhook-edges.resolver.js';
import { WebhookResolver } from './webhook/webhook.resolver.js';

/** A class of resolvers for type-graphql. */
export type ResolverClass = new () => object;

const schemaResolvers: ResolverClass[] = [
  AgentEdges,
  AgentResolver,
  AgentRunEdges,
  AgentMemoryEdges,
  KnowledgeFileEdges,
  AgentRunResolver,
  ApiKeyResolver,
  BudgetResolver,
  CallerBudgetsResolver,
  KeySpendResolver,
  AuditResolver,
  CallerResolver,
  ChatResolver,
  ClientTokenResolver,
  EmbeddingResolver,
  EstimateResolver,
  ImageEditResolver,
  ImageResolver,
  JobEdges,
  JobResolver,
  KnowledgeResolver,
  MemberResolver,
  MessageResolver,
  ModelResolver,
  ModerationResolver,
  MusicResolver,
  OperatedOrganizationEdges,
  OperatorResolver,
  OrganizationResolver,
  QuotaResolver,
  RerankResolver,
  ResponseEdges,
  ResponseProgressResolver,
  ResponseResolver,
  StorageResolver,
  SpeechResolver,
  TranscriptionResolver,
  UploadResolver,
  UsageRecordEdges,
  UsageRecordResolver,
  UsageSummaryResolver,
  VersionResolver,
  VideoResolver,
  WebhookDeliveryEdges,
  WebhookOutcomesResolver,
  WebhookResolver,
];

export interface SchemaOptions {
  /** Resolvers of other modules (subscriptions), which this module must not import. */
  resolvers?: readonly ResolverClass[];
}

/** type-graphql requires a PubSub, although every subscription here has its own events. In type-graphql's own PubSub a slow reader stalls all others. */
const NO_PUB_SUB: PubSub = {
  publish() {
    throw new Error('events go through the bus');
  },
  subscribe() {
    throw new Error('subscriptions have their own events');
  },
};

/** A root field can be refused, at least by its rate window. Because it is nullable, its siblings stay valid (beyond 14.3). A subscription has no siblings. */
function build({ resolvers = [] }: SchemaOptions): GraphQLSchema {
  const [first, ...rest] = [...schemaResolvers, ...resolvers] as [ResolverClass, ...ResolverClass[]];
  const schema = buildSchemaSync({
    resolvers: [first, ...rest],
    skipCheck: true,
    validate: false,
    pubSub: NO_PUB_SUB,
  });
  for (const [name, description] of Object.entries(ROOTS)) {
    const type = schema.getType(name);
    if (type) type.description = description;
  }
  for (const type of [schema.getQueryType(), schema.getMutationType()])
    for (const field of Object.values(type?.getFields() ?? {})) field.type = getNullableType(field.type);
  tagForAdmins(schema);
  return schema;
}

/** type-graphql creates the root types without descriptions. */
const ROOTS = {
  Query: 'Reads data. Every operation needs an API key or a session; most fields also need a scope.',
  Mutation: 'Changes data. The mutations of one operation run one after the other, and each is charged.',
  Subscription:
    'Live updates, over WebSocket (graphql-transport-ws) or Server-Sent Events (graphql-sse) at the same address.',
};

/** The executable Federation 2 subgraph: it contains no service (they come with each operation's {@link GraphqlContext}). */
export function buildPenstockSchema(options: SchemaOptions = {}): GraphQLSchema {
  const schema = toSubgraph(build(options));
  const fieldsOf = (type: GraphQLObjectType | null | undefined) => Object.values(type?.getFields() ?? {});
  const mutations = fieldsOf(schema.getMutationType());
  for (const field of [...fieldsOf(schema.getQueryType()), ...fieldsOf(schema.getSubscriptionType())])
    guardField(field, guardOf(field).admittedByService ? 'member' : 'viewer');
  for (const field of mutations) nameActor(field);
  for (const field of mutations) guardField(field, 'member');
  for (const field of mutations) noteEffect(field);
  return schema;
}

/** Puts the guard in front of a root field once, at build time: middleware on every field costs a third of a list (ADR 1). */
function guardField(field: GraphQLField<unknown, GraphqlContext>, role: MemberRole): void {
  const binding = bindingOf(field);
  const guard = { role, ...guardOf(field) };
  if (binding.isClosed) denyBoundTokens(guard);
  field.extensions = { ...field.extensions, penstock: guard };
  const work = field.subscribe ?? field.resolve;
  if (!work) return;
  const cut = truncateIds(field);
  const resume = field.subscribe === undefined ? null : resumption(field);
  const guarded: typeof work = (source, args, context, info) => {
    const passed = guardRootField(guard, context);
    const begin = () => {
      const requested = resume === null ? args : resume(args, context.call);
      return work(source, binding.bind(cut(requested), context.call), context, info);
    };
    return passed ? passed.then(begin) : begin();
  };
  if (field.subscribe) field.subscribe = guarded;
  else field.resolve = guarded;
}

/** Browsers reopen an event stream with the `id:` of its last event in `Last-Event-ID`. Makes a field use it as `after`; once, at build time. */
function resumption({
  args,
}: GraphQLField<unknown, GraphqlContext>):
  | ((given: Record<string, unknown>, call: CallContext) => Record<string, unknown>)
  | null {
  const after = args.find(({ name }) => name === 'after');
  if (after === undefined) return null;
  const isCursor = getNamedType(after.type).name === 'String';
  return (given, { lastEventId }) => {
    if (lastEventId === undefined) return given;
    if (!isCursor && !/^\d{1,15}$/.test(lastEventId))
      throw invalid('Last-Event-ID must be the id of an event of this stream', 'Last-Event-ID');
    return { ...given, after: isCursor ? lastEventId : Number(lastEventId) };
  };
}

/** The caller, in the form of the audit log. */
function actingIn({ call }: GraphqlContext, { operator }: FieldGuard): ActorContext {
  const { person, userId, keyId, keyName } = call.principal;
  const actor =
    person === undefined
      ? ({ kind: 'key', id: keyId, name: keyName } as const)
      : ({ kind: operator ? 'operator' : 'person', id: userId, name: null } as const);
  return { actor, address: call.address?.() ?? null };
}

/** The audit log records a mutation's changes with its caller (beyond 13.9). Generations change nothing that is recorded. */
function nameActor(field: GraphQLField<unknown, GraphqlContext>): void {
  const work = field.resolve;
  const guard = guardOf(field);
  if (!work || guard.admittedByService) return;
  field.resolve = (source, args, context, info) =>
    actAs(actingIn(context, guard), () => work(source, args, context, info) as unknown);
}

/** After a mutation's field has succeeded, a retry with the same Idempotency-Key gets this answer, even if later fields fail. */
function noteEffect(field: GraphQLField<unknown, GraphqlContext>): void {
  const work = field.resolve;
  if (!work) return;
  field.resolve = (source, args, context, info) => {
    const result: unknown = work(source, args, context, info);
    if (context.call.idempotencyKey === null) return result;
    return Promise.resolve(result).then((done) => {
      context.call.admitted = true;
      return done;
    });
  };
}
