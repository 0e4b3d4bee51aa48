import 'reflect-metadata';
import type { GraphQLField, GraphQLObjectType, GraphQLSchema } from 'graphql';
import { getNullableType } from 'graphql';
import type { PubSub } from 'type-graphql';
import { buildSchemaSync } from 'type-graphql';
import { AgentEdges, AgentRunEdges } from './agent/agent-edges.resolver.js';
import { AgentResolver } from './agent/agent.resolver.js';
import { AgentRunResolver } from './agent/run.resolver.js';
import { ChatResolver } from './chat/chat.resolver.js';
import { actAs } from '../src/audit/index.js';
import type { Acting } from '../src/audit/index.js';
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
import { printSubgraph, toSubgraph } from './federation/subgraph.js';
import { tagForAdmins } from './federation/tags.js';
import { closeToBound, enter, guardOf } from './guard.js';
import { cutIds } from './ids.js';
import { ImageEditResolver } from './image-edit/image-edit.resolver.js';
import { ImageResolver } from './image/image.resolver.js';
import { JobEdges } from './job/job-edges.resolver.js';
import { JobConnectionResolver, JobResolver } from './job/job.resolver.js';
import { KnowledgeResolver } from './knowledge/knowledge.resolver.js';
import { MemberResolver } from './member/member.resolver.js';
import { MessageResolver } from './message/message.resolver.js';
import { ModelResolver } from './model/model.resolver.js';
import { ModerationResolver } from './moderation/moderation.resolver.js';
import { MusicResolver } from './music/music.resolver.js';
import { CallerResolver, OrganizationResolver } from './organization/organization.resolver.js';
import { QuotaResolver } from './quota/quota.resolver.js';
import { RerankResolver } from './rerank/rerank.resolver.js';
import { ResponseProgressResolver, ResponseResolver } from './response/response.resolver.js';
import { StorageResolver } from './storage/storage.resolver.js';
import { SpeechResolver } from './speech/speech.resolver.js';
import { TranscriptionResolver } from './transcription/transcription.resolver.js';
import { UsageRecordEdges, UsageRecordResolver } from './usage/usage-record.resolver.js';
import { UsageSummaryResolver } from './usage/usage-summary.resolver.js';
import { VersionResolver } from './version.resolver.js';
import { VideoResolver } from './video/video.resolver.js';
import { WebhookResolver } from './webhook/webhook.resolver.js';

/** A class of resolvers, as type-graphql takes it. */
export type ResolverClass = new () => object;

const schemaResolvers: ResolverClass[] = [
  AgentEdges,
  AgentResolver,
  AgentRunEdges,
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
  JobConnectionResolver,
  JobEdges,
  JobResolver,
  KnowledgeResolver,
  MemberResolver,
  MessageResolver,
  ModelResolver,
  ModerationResolver,
  MusicResolver,
  OrganizationResolver,
  QuotaResolver,
  RerankResolver,
  ResponseProgressResolver,
  ResponseResolver,
  StorageResolver,
  SpeechResolver,
  TranscriptionResolver,
  UsageRecordEdges,
  UsageRecordResolver,
  UsageSummaryResolver,
  VersionResolver,
  VideoResolver,
  WebhookResolver,
];

export interface SchemaOptions {
  /** Resolvers of other modules (subscriptions), which the import direction keeps out of this one. */
  resolvers?: readonly ResolverClass[];
}

/** type-graphql demands one, though every subscription here brings its own events; its own brings a slow reader's stall to all others. */
const NO_PUB_SUB: PubSub = {
  publish() {
    throw new Error('events go through the bus');
  },
  subscribe() {
    throw new Error('subscriptions bring their own events');
  },
};

/** A root field can be refused, by its window alone; as null it leaves its siblings what they are (beyond 14.3). A subscription has none. */
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

/** type-graphql makes the root types itself, without a word on them. */
const ROOTS = {
  Query: 'Reads data. Every operation needs an API key or a session; most fields also need a scope.',
  Mutation: 'Changes data. The mutations of one operation run one after the other, and each is charged.',
  Subscription:
    'Live updates, over WebSocket (graphql-transport-ws) or Server-Sent Events (graphql-sse) at the same address.',
};

/** The executable Federation 2 subgraph: holds no service (they come with each operation's {@link GraphqlContext}). */
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

/** The published contract, `schema/schema.graphql`. */
export function printPenstockSchema(options: SchemaOptions = {}): string {
  return printSubgraph(build(options));
}

/** Puts the guard in front of a root field once, at build time: middleware on every field costs a third of a list (ADR 1). */
function guardField(field: GraphQLField<unknown, GraphqlContext>, role: MemberRole): void {
  const binding = bindingOf(field);
  const guard = { role, ...guardOf(field) };
  if (binding.isClosed) closeToBound(guard);
  field.extensions = { ...field.extensions, penstock: guard };
  const work = field.subscribe ?? field.resolve;
  if (!work) return;
  const cut = cutIds(field);
  const guarded: typeof work = (source, args, context, info) => {
    const passed = enter(guard, context);
    const begin = () => work(source, binding.bind(cut(args), context.call), context, info);
    return passed ? passed.then(begin) : begin();
  };
  if (field.subscribe) field.subscribe = guarded;
  else field.resolve = guarded;
}

/** Who calls, as the audit log names them. */
function actingIn({ call }: GraphqlContext): Acting {
  const { person, userId, keyId, keyName } = call.principal;
  const actor =
    person === undefined
      ? ({ kind: 'key', id: keyId, name: keyName } as const)
      : ({ kind: 'person', id: userId, name: null } as const);
  return { actor, address: call.address?.() ?? null };
}

/** What a mutation changes is recorded in its caller's name (beyond 13.9). Generations change nothing that is recorded. */
function nameActor(field: GraphQLField<unknown, GraphqlContext>): void {
  const work = field.resolve;
  if (!work || guardOf(field).admittedByService) return;
  field.resolve = (source, args, context, info) =>
    actAs(actingIn(context), () => work(source, args, context, info) as unknown);
}

/** Once a mutation's field has worked, a retry with the same Idempotency-Key gets this answer, whatever became of the fields after it. */
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
