import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { KeyName } from '../../src/access/index.js';
import type { Amounts, Bucket } from '../../src/contract/words.js';
import { BUCKETS } from '../../src/contract/words.js';
import type { OperationStatus as Status, UsageRecord } from '../../src/usage/usage.types.js';
import { connectionType } from '../connection.js';
import { BucketName, OperationStatus, UsageState, UsageOperation } from '../enums.js';
import { DateTime, Decimal, SafeInt } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: 'An amount in a bucket.' })
export class BucketAmount {
  @Field(() => BucketName, { description: 'The bucket.' })
  bucket!: Bucket;

  @Field(() => Float, { description: 'In units of the bucket, with up to two decimals.' })
  amount!: number;
}

/** Converts hundredths to a list of amounts in units, without buckets that have no amount. */
export function bucketAmounts(amounts: Amounts): BucketAmount[] {
  return BUCKETS.flatMap((bucket) => {
    const hundredths = amounts[bucket];
    return hundredths === undefined ? [] : [{ bucket, amount: hundredths / 100 }];
  });
}

@ObjectType({ simpleResolvers: true, description: 'How the calling program identifies itself.' })
export class ClientIdentification {
  @Field(() => String, { nullable: true, description: 'Header `X-Service-Client`.' })
  serviceClient!: string | null;

  @Field(() => String, { nullable: true, description: 'Header `X-Client-Name`.' })
  clientName!: string | null;

  @Field(() => String, { nullable: true, description: 'Header `User-Agent`.' })
  userAgent!: string | null;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'Tokens by class. Cached input and cache writes are parts of the input, reasoning is a part of the output.',
})
export class UsageTokens {
  @Field(() => SafeInt, { description: 'All tokens of the prompt.' })
  input!: number;

  @Field(() => SafeInt, { description: "Input tokens that were read from the provider's cache." })
  cachedInput!: number;

  @Field(() => SafeInt, { description: "Input tokens that were written to the provider's cache." })
  cacheWrite!: number;

  @Field(() => SafeInt, { description: 'All tokens of the answer.' })
  output!: number;

  @Field(() => SafeInt, { description: 'Output tokens of the reasoning.' })
  reasoning!: number;
}

@ObjectType('UsageKey', { simpleResolvers: true, description: 'The API key that made a call.' })
export class UsageKey implements KeyName {
  @Field(() => ID, { description: 'Its id, `key_…`.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'The first 11 characters of the key.' })
  prefix!: string;

  @Field(() => DateTime, { nullable: true, description: 'When it was revoked; null if it was not.' })
  revokedAt!: string | null;
}

/** A ledger row (decisions 2, beyond 13.1). */
@ObjectType('UsageRecord', { simpleResolvers: true, description: 'One metered operation.' })
export class UsageRecordType {
  @Field(() => ID, { description: 'The id of the operation. An operation is settled only once.' })
  id!: string;

  @Field(() => UsageOperation, { description: 'The kind of operation.' })
  operation!: string;

  @Field(() => UsageState, { description: 'Its state.' })
  state!: string;

  @Field(() => ID, { nullable: true, description: 'The `X-Request-Id` of the call.' })
  requestId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that it was charged for, if any.' })
  jobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The run that it was charged for, if any.' })
  runId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The key that made the call; null if an operator did it.',
  })
  keyId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The run whose agent made the call, if any.' })
  parentRunId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The end user that the call was made for, if it named one.',
  })
  endUser!: string | null;

  @Field(() => [String], { description: 'The tags of the call, including the tags of its key.' })
  tags!: string[];

  /** Ids; the fields of the objects are edges. */
  model!: string | null;
  answeredModel!: string | null;

  @Field(() => String, { nullable: true, description: 'The provider of the model that answered.' })
  provider!: string | null;

  @Field(() => String, { nullable: true, description: "The provider's own id of the answer." })
  upstreamId!: string | null;

  @Field(() => OperationStatus, {
    nullable: true,
    description: 'Its outcome; null while it is open, and for changes of an operator.',
  })
  status!: Status | null;

  @Field(() => String, { nullable: true, description: 'The code of its error, if it failed.' })
  errorCode!: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'The time from its admission to its end, in milliseconds.',
  })
  latencyMs!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'The time from its admission to the first token or byte of the answer, in milliseconds.',
  })
  firstTokenMs!: number | null;

  @Field(() => UsageTokens, {
    nullable: true,
    description: 'Tokens by class; null for operations that are not counted in tokens.',
  })
  tokens!: UsageTokens | null;

  @Field(() => Decimal, {
    nullable: true,
    description: 'The exact cost of the operation at its providers, in USD; null if a price is unknown.',
  })
  costUsd!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The version of the price that was valid at its admission.',
  })
  costVersion!: string | null;

  @Field(() => ClientIdentification, { description: 'The calling program.' })
  client!: ClientIdentification;

  @Field(() => [BucketAmount], {
    description:
      'The reserved amounts while it is open, the charged amounts after settlement; empty after release.',
  })
  amounts!: BucketAmount[];

  @Field(() => [BucketAmount], {
    description: 'The amounts that a top-up added; empty for other operations.',
  })
  granted!: BucketAmount[];

  @Field(() => DateTime, { description: 'When it was reserved.' })
  createdAt!: string;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it was settled or released; null until then.',
  })
  settledAt!: string | null;

  @Field(() => SafeInt, {
    nullable: true,
    description: "The number of its end among all ends of the organisation's operations; null until then.",
  })
  sequence!: number | null;
}

export const UsageRecordConnection = connectionType('UsageRecord', () => UsageRecordType);

/** A record without its edges, which their resolvers add. */
export type ShownRecord = Omit<UsageRecordType, 'key' | 'job' | 'run' | 'response'>;

/** A record with its amounts in units. */
export function showRecord(record: UsageRecord): ShownRecord {
  return { ...record, amounts: bucketAmounts(record.amounts), granted: bucketAmounts(record.granted) };
}
