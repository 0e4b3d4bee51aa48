import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Amounts, Bucket } from '../../src/contract/words.js';
import { BUCKETS } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { BucketName, UsageState } from '../enums.js';
import { DateTime } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: 'An amount in a bucket.' })
export class BucketAmount {
  @Field(() => BucketName, { description: 'The bucket.' })
  bucket!: Bucket;

  @Field(() => Float, { description: 'In units of the bucket, with up to two decimals.' })
  amount!: number;
}

/** Hundredths as a list of whole units, buckets without an amount left out. */
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

/** A ledger row (decisions 2). */
@ObjectType('UsageRecord', { simpleResolvers: true, description: 'One metered operation.' })
export class UsageRecordType {
  @Field(() => ID, { description: 'The id of the operation. An operation is settled only once.' })
  id!: string;

  @Field(() => String, {
    description:
      'The kind of operation: chat, embedding, image and so on; adjustment or top_up if an operator did it.',
  })
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

  @Field(() => String, { nullable: true, description: 'Id of the model, if any.' })
  model!: string | null;

  @Field(() => ClientIdentification, { description: 'The program that called.' })
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
}

export const UsageRecordConnection = connectionType('UsageRecord', () => UsageRecordType);
