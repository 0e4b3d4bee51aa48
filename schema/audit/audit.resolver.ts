import { Arg, Ctx, Query, Resolver } from 'type-graphql';
import type { AuditEntry } from '../../src/audit/index.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { People } from '../guard.js';
import { AuditEntryConnection, AuditLogFilter } from './audit.type.js';

/** The audit log of the organisation (beyond 13.9). */
@Resolver()
export class AuditResolver {
  @People('admin')
  @Query(() => AuditEntryConnection, {
    description:
      "Changes of the organisation's keys, members, webhooks, budgets, plan and public agents, newest first. Only owners and admins may read them.",
  })
  async auditLog(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('filter', () => AuditLogFilter, { nullable: true, description: 'Default: all entries.' })
    filter: AuditLogFilter | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<AuditEntry>> {
    const page = await services.audit.list(call.principal.orgId, {
      filter: filter ?? {},
      ...pageQuery({ first, after, last, before }),
    });
    return toConnection(page, after);
  }
}
