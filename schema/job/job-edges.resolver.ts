import { Ctx, FieldResolver, ID, Resolver, Root } from 'type-graphql';
import type { Job } from '../../src/jobs/jobs.types.js';
import { loadOne } from '../batch.js';
import type { GraphqlContext } from '../context.js';
import { ModelObject, modelOf } from '../model/model.type.js';
import { showRecord, UsageKey, UsageRecordType, type ShownRecord } from '../usage/usage-record.type.js';
import { JobType } from './job.type.js';

/** The objects that jobs refer to; one statement for each kind, for a page of any length. Deleted objects are null. */
@Resolver(() => JobType)
export class JobEdges {
  @FieldResolver(() => ID, {
    description: 'The id of the model. If a fallback answered, the id of the fallback.',
  })
  modelId(@Root() { model }: Job): string {
    return model;
  }

  @FieldResolver(() => ModelObject, {
    nullable: true,
    description: 'The model; null if it is no longer in the catalogue.',
  })
  model(@Root() { model }: Job, @Ctx() { services }: GraphqlContext): ModelObject | null {
    return modelOf(services.models, model);
  }

  @FieldResolver(() => UsageKey, {
    nullable: true,
    description: 'The API key that created it; null for a client token that is bound to one object.',
  })
  async key(@Root() { keyId }: Job, @Ctx() { call, services }: GraphqlContext): Promise<UsageKey | null> {
    if (call.principal.token?.bound != null) return null;
    return loadOne(call, keyId, {
      key: services.keys,
      read: async ({ principal }, ids) => {
        const keys = await services.keys.namesOf(principal.orgId, ids);
        return new Map(keys.map((key) => [key.id, key]));
      },
    });
  }

  @FieldResolver(() => UsageRecordType, {
    nullable: true,
    description:
      'The record of its reservation or charge; null for a client token that is bound to one object.',
  })
  async usage(
    @Root() { operationId }: Job,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<ShownRecord | null> {
    if (call.principal.token?.bound != null) return null;
    return loadOne(call, operationId, {
      key: services.usage,
      read: async ({ principal }, ids) => {
        const records = await services.usage.recordsById(principal.orgId, ids);
        return new Map(records.map((record) => [record.id, showRecord(record)]));
      },
    });
  }
}
