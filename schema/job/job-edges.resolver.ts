import { Ctx, FieldResolver, ID, Resolver, Root } from 'type-graphql';
import type { Job } from '../../src/jobs/jobs.types.js';
import { loadOne } from '../batch.js';
import type { GraphqlContext } from '../context.js';
import { ModelObject, showModel } from '../model/model.type.js';
import { UsageKey } from '../usage/usage-record.type.js';
import { JobType } from './job.type.js';

/** What jobs refer to: one statement for each kind, however long the page is. What is gone is null. */
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
    description: 'The model; null if the catalogue has it no longer.',
  })
  model(@Root() { model }: Job, @Ctx() { services }: GraphqlContext): ModelObject | null {
    const found = services.models.find(model);
    return found && showModel(found);
  }

  @FieldResolver(() => UsageKey, {
    nullable: true,
    description: 'The API key that made it; null for a client token that is bound to one object.',
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
}
