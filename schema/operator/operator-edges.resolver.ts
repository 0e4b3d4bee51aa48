import { Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import type { OverallRow } from '../../src/usage/usage.types.js';
import { loadOne } from '../batch.js';
import type { GraphqlContext } from '../context.js';
import { OperatedOrganization, OperatedUsage } from './operator.type.js';

/** A row of usage in the form of the schema. */
export const showUsage = ({ orgId, orgName, ...row }: OverallRow): OperatedUsage => ({
  ...row,
  organizationId: orgId,
  organizationName: orgName,
});

/** The usage of the last 30 days; one statement for a page. */
@Resolver(() => OperatedOrganization)
export class OperatedOrganizationEdges {
  @FieldResolver(() => OperatedUsage, {
    nullable: true,
    description: 'Its usage in the last 30 days (UTC); null if there was none.',
  })
  async usage(
    @Root() { id }: OperatedOrganization,
    @Ctx() { call, services: { usage } }: GraphqlContext,
  ): Promise<OperatedUsage | null> {
    const row = await loadOne(call, id, {
      key: OperatedOrganizationEdges,
      read: async (_call, orgIds) => {
        const rows = await usage.overall({ groupBy: ['organization'], orgIds });
        return new Map(rows.map((one) => [one.orgId ?? '', one]));
      },
    });
    return row && showUsage(row);
  }
}
