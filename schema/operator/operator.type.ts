import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { PlanCode as Plan, Scope } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { KeyScope, PlanCode } from '../enums.js';
import { BucketQuota } from '../quota/quota.type.js';
import { DateTime, Json, SafeInt } from '../scalars.js';
import { UsageSums } from '../usage/usage-summary.type.js';

@ObjectType({ simpleResolvers: true, description: 'An organisation, with the fields for operators.' })
export class OperatedOrganization {
  @Field(() => ID, { description: 'Its id, `org_…`.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => PlanCode, { description: 'The subscribed plan.' })
  planCode!: Plan;

  @Field(() => Boolean, {
    description: 'False if the subscription has ended. Then the limits of the Free plan apply.',
  })
  entitled!: boolean;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When its current period ends.' })
  periodEnd!: Date;

  @Field(() => Int, { description: 'The number of its members.' })
  members!: number;

  @Field(() => Int, { description: 'The number of its API keys that are not revoked.' })
  keys!: number;

  @Field(() => [BucketQuota], { description: 'All nine buckets in the current period.' })
  quotas!: BucketQuota[];
}

export const OperatedOrganizationConnection = connectionType(
  'OperatedOrganization',
  () => OperatedOrganization,
);

@ObjectType({ simpleResolvers: true, description: 'An API key of any organisation.' })
export class OperatedApiKey {
  @Field(() => ID, { description: 'Its id, `key_…`.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'The first 11 characters of the key.' })
  prefix!: string;

  @Field(() => [KeyScope], { description: 'Its scopes.' })
  scopes!: Scope[];

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: string;

  @Field(() => String, {
    description:
      'The e-mail address of the person who created it, as it was at that time; or `command line`.',
  })
  createdBy!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was last used; null: never.' })
  lastUsedAt!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it expires; null: never.' })
  expiresAt!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was revoked; null: it is valid.' })
  revokedAt!: string | null;
}

export const OperatedApiKeyConnection = connectionType('OperatedApiKey', () => OperatedApiKey);

@ObjectType({ simpleResolvers: true, description: 'A row of usage over organisations.' })
export class OperatedUsage extends UsageSums {
  @Field(() => DateTime, {
    nullable: true,
    description: 'The beginning of the day (UTC); null if not grouped by it.',
  })
  day!: Date | null;

  @Field(() => ID, {
    nullable: true,
    description: 'Id of the organisation; null if not grouped by it.',
  })
  organizationId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Its name; null if not grouped by it, or if the organisation was deleted.',
  })
  organizationName!: string | null;

  @Field(() => String, { nullable: true, description: 'Id of the requested model.' })
  model!: string | null;

  @Field(() => String, { nullable: true, description: 'The provider of the model that answered.' })
  provider!: string | null;
}

@ObjectType({ simpleResolvers: true, description: "A provider's calls that ended within the last hour." })
export class OperatedProviderCalls {
  @Field(() => SafeInt, { description: 'The number of all calls.' })
  requests!: number;

  @Field(() => SafeInt, { description: 'The number of failed calls.' })
  errors!: number;

  @Field(() => Float, { nullable: true, description: 'The median of their time in milliseconds.' })
  p50Ms!: number | null;

  @Field(() => Float, { nullable: true, description: 'The 95th percentile of their time in milliseconds.' })
  p95Ms!: number | null;
}

@ObjectType({
  simpleResolvers: true,
  description: 'A provider of models: its availability, and the outcome of its calls.',
})
export class OperatedProvider {
  @Field(() => ID, { description: 'Its id in PROVIDERS_FILE, or the id of the native provider.' })
  id!: string;

  @Field(() => String, { description: '`openai-compatible`, the id of a native provider, or `sandbox`.' })
  kind!: string;

  @Field(() => Int, { description: 'The number of models in the catalogue that it serves.' })
  models!: number;

  @Field(() => Boolean, { description: 'False if it does not answer, or rejects the key.' })
  ok!: boolean;

  @Field(() => String, { description: 'The result of the check, in a sentence.' })
  detail!: string;

  @Field(() => DateTime, { description: 'When it was checked; at most 30 seconds ago.' })
  checkedAt!: Date;

  @Field(() => OperatedProviderCalls, { description: 'The outcome of its calls in the last hour.' })
  lastHour!: OperatedProviderCalls;
}

@ObjectType({ simpleResolvers: true, description: 'The amount of waiting or running work of one kind.' })
export class OperatedQueue {
  @Field(() => String, {
    description:
      '`jobs`, `agent_runs`, `responses`, `knowledge_files`, `deliveries` (of webhooks), `outbox` or `dead_letters`.',
  })
  queue!: string;

  @Field(() => String, { nullable: true, description: 'The tool of jobs; null for all others.' })
  part!: string | null;

  @Field(() => String, { description: '`pending`, `processing`, `due`, `waiting` or `failed`.' })
  status!: string;

  @Field(() => Int, { description: 'How many; at most 100,000.' })
  count!: number;

  @Field(() => Float, { nullable: true, description: 'The age of the oldest in seconds.' })
  oldestSeconds!: number | null;
}

@ObjectType({ simpleResolvers: true, description: 'An event that a consumer could not process.' })
export class OperatedDeadLetter {
  @Field(() => ID, { description: 'Its id: `table:…`, or `topic:…` with Kafka.' })
  id!: string;

  @Field(() => String, { description: 'Its original topic.' })
  topic!: string;

  @Field(() => String, { description: 'Its key in the topic.' })
  key!: string;

  @Field(() => String, { description: 'The group of consumers that could not process it.' })
  group!: string;

  @Field(() => String, { description: 'Why.' })
  error!: string;

  @Field(() => Json, { nullable: true, description: 'The unchanged event.' })
  event!: unknown;

  @Field(() => DateTime, { description: 'When it became a dead letter.' })
  createdAt!: Date | string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to replayOperatedDeadLetters.' })
export class ReplayOperatedDeadLettersResult {
  @Field(() => Int, { description: 'The number of events that were sent again.' })
  replayed!: number;

  @Field(() => [OperatedDeadLetter], {
    description: 'The events that were sent again; at most 1,000 of the table and 1,000 of the topic.',
  })
  deadLetters!: OperatedDeadLetter[];
}
