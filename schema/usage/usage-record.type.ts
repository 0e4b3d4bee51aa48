import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Amounts, Bucket } from '../../src/vocabulary.js';
import { BUCKETS } from '../../src/vocabulary.js';
import { connectionType } from '../connection.js';
import { BucketName } from '../enums.js';

@ObjectType({ simpleResolvers: true })
export class BucketAmount {
  @Field(() => BucketName)
  bucket!: Bucket;

  @Field(() => Float)
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
  @Field(() => String, { nullable: true })
  serviceClient!: string | null;

  @Field(() => String, { nullable: true })
  clientName!: string | null;

  @Field(() => String, { nullable: true })
  userAgent!: string | null;
}

/** A ledger row (decisions.md 2). */
@ObjectType('UsageRecord', { simpleResolvers: true, description: 'One metered operation.' })
export class UsageRecordType {
  @Field(() => ID)
  id!: string;

  @Field(() => String, { description: 'chat, embedding, image … or adjustment.' })
  operation!: string;

  @Field(() => String, { description: 'reserved, settled or released.' })
  state!: string;

  @Field(() => ID, { nullable: true })
  requestId!: string | null;

  @Field(() => ID, { nullable: true })
  jobId!: string | null;

  @Field(() => ID, { nullable: true })
  runId!: string | null;

  @Field(() => ID, { nullable: true })
  keyId!: string | null;

  @Field(() => String, { nullable: true })
  model!: string | null;

  @Field(() => ClientIdentification)
  client!: ClientIdentification;

  @Field(() => [BucketAmount], {
    description: 'Reserved while open, charged once settled, empty once released.',
  })
  amounts!: BucketAmount[];

  @Field(() => String, { description: 'ISO 8601.' })
  createdAt!: string;

  @Field(() => String, { nullable: true, description: 'ISO 8601.' })
  settledAt!: string | null;
}

export const UsageRecordConnection = connectionType('UsageRecord', () => UsageRecordType);
