import { Ctx, Query, Resolver } from 'type-graphql';
import { storageLimitOf } from '../../src/access/index.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { StorageReport } from './storage.type.js';

@Resolver()
export class StorageResolver {
  @Scope('usage')
  @Query(() => StorageReport, { description: 'The storage that the organisation uses, and its limit.' })
  async penstockStorage(@Ctx() { call, services }: GraphqlContext): Promise<StorageReport> {
    const { orgId, plan } = call.principal;
    return { ...(await services.storage.use(orgId)), limitBytes: storageLimitOf(plan) };
  }
}
