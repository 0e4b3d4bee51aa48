import { Ctx, FieldResolver, Mutation, Query, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { People } from '../guard.js';
import type { Person } from '../member/member.type.js';
import { findPerson } from '../member/person.js';
import { Caller, Organization } from './organization.type.js';

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

@Resolver(() => Caller)
export class CallerResolver {
  @Query(() => Caller, { description: 'The API key or the session that makes the request.' })
  caller(@Ctx() { call }: GraphqlContext): Omit<Caller, 'organization' | 'person'> {
    const { keyId, keyName, userId, scopes, expiresAt, person } = call.principal;
    return { id: keyId, name: keyName, userId, scopes: [...scopes], expiresAt, role: person?.role ?? null };
  }

  @FieldResolver()
  organization(@Ctx() context: GraphqlContext): Promise<Organization> {
    return loadOrganization(context);
  }

  @FieldResolver()
  async person(@Ctx() { call, services }: GraphqlContext): Promise<Person | null> {
    return await findPerson(services, call.principal);
  }
}

@Resolver(() => Organization)
export class OrganizationResolver {
  @Query(() => Organization, { description: 'The organisation of the API key or the session.' })
  penstockOrganization(@Ctx() context: GraphqlContext): Promise<Organization> {
    return loadOrganization(context);
  }

  @People('admin')
  @Mutation(() => Organization, {
    description:
      'Cancels the subscription at the end of its period. Nothing changes before. Only owners and admins may do this.',
  })
  async cancelPenstockPlan(@Ctx() context: GraphqlContext): Promise<Organization> {
    await context.services.organizations.cancel(context.call.principal.orgId);
    return await loadOrganization(context);
  }
}
