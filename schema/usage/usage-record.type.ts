import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Amounts, Bucket } from '../../src/contract/words.js';
import { BUCKETS } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { BucketName } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'A number of units of a bucket.' })
export class BucketAmount {
  @Field(() => BucketName, { description: 'The bucket.' })
  bucket!: Bucket;

  @Field(() => Float, { description: 'In its units, with up to two decimals.' })
  amount!: number;
}

/** Hundredths as a list of whole units, buckets without an amount left out. */
export function bucketAmounts(amounts: Amounts): BucketAmount[] {
  return BUCKETS.flatMap((bucket) => {
    const hundredths = amounts[bucket];
    return hundredths === undefined ? [] : [{ bucket, amount: hundredths / 100 }];
  });
}

@ObjectType({ simpleResolvers: true, description: "What the caller's program said of itself." })
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
  @Field(() => ID, { description: 'Id of the operation; it is settled once.' })
  id!: string;

  @Field(() => String, {
    description: 'chat, embedding, image …, or what an operator did: adjustment, top_up.',
  })
  operation!: string;

  @Field(() => String, { description: 'reserved, settled or released.' })
  state!: string;

  @Field(() => ID, { nullable: true, description: 'The `X-Request-Id` of the call.' })
  requestId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that it paid, if any.' })
  jobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The run that it paid, if any.' })
  runId!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The key that made the call; null for what an operator did.',
  })
  keyId!: string | null;

  @Field(() => String, { nullable: true, description: 'Id of the model, if any.' })
  model!: string | null;

  @Field(() => ClientIdentification, { description: 'What called.' })
  client!: ClientIdentification;

  @Field(() => [BucketAmount], {
    description: 'Reserved while open, charged once settled, empty once released.',
  })
  amounts!: BucketAmount[];

  @Field(() => [BucketAmount], {
    description: 'What a top-up added to buckets; empty for all else.',
  })
  granted!: BucketAmount[];

  @Field(() => String, { description: 'When it was reserved, ISO 8601.' })
  createdAt!: string;

  @Field(() => String, {
    nullable: true,
    description: 'When it was settled or released, ISO 8601; null until then.',
  })
  settledAt!: string | null;
}

export const UsageRecordConnection = connectionType('UsageRecord', () => UsageRecordType);
