import { Ctx, FieldResolver, Query, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Organization, Viewer } from './organization.type.js';

/** The caller's own organisation, the only one that a caller can see. */
export async function loadOrganization({ call, services }: GraphqlContext): Promise<Organization> {
  const { orgId, subscribedPlan, entitled } = call.principal;
  const [row] = await services.database.tenantQuery<{ name: string }>(
    orgId,
    'SELECT name FROM organizations WHERE id = $1',
    [orgId],
  );
  if (!row) throw new Error(`organization ${orgId} is gone`);
  return { id: orgId, name: row.name, planCode: subscribedPlan.code, entitled };
}

@Resolver(() => Viewer)
export class ViewerResolver {
  @Query(() => Viewer, { description: 'The calling key, what it may do, and whose it is.' })
  viewer(@Ctx() { call }: GraphqlContext): Omit<Viewer, 'organization'> {
    const { keyId, keyName, userId, scopes, expiresAt } = call.principal;
    return { keyId, keyName, userId, scopes: [...scopes], expiresAt };
  }

  @FieldResolver()
  organization(@Ctx() context: GraphqlContext): Promise<Organization> {
    return loadOrganization(context);
  }
}

@Resolver(() => Organization)
export class OrganizationResolver {
  @Query(() => Organization, { description: "The calling key's organisation." })
  organization(@Ctx() context: GraphqlContext): Promise<Organization> {
    return loadOrganization(context);
  }
}
