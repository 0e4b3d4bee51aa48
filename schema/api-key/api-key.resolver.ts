import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import { invalid } from '../../src/contract/errors.js';
import type { GraphqlContext } from '../context.js';
import { People } from '../guard.js';
import { CreateApiKeyInput } from './api-key.input.js';
import { ApiKeyType, CreateApiKeyResult, RevokeApiKeyResult } from './api-key.type.js';

/** Keys are made and revoked by people, not by keys (contract 5.3, decisions 5). */
@Resolver()
export class ApiKeyResolver {
  @People('admin')
  @Query(() => [ApiKeyType], {
    description: "The organisation's API keys, including revoked keys. Only owners and admins may read them.",
  })
  apiKeys(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('createdBy', () => String, {
      nullable: true,
      description:
        'Only keys that this e-mail address or the `command line` created. The person may have left the organisation since.',
    })
    createdBy: string | null,
  ): Promise<ApiKeyType[]> {
    return services.keys.list(call.principal.orgId, createdBy);
  }

  @People('admin')
  @Mutation(() => CreateApiKeyResult, {
    description:
      'Creates an API key. Only this answer shows the key itself. Only owners and admins may do this.',
  })
  async createApiKey(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('input', () => CreateApiKeyInput, { description: 'The name and the scopes of the key.' })
    input: CreateApiKeyInput,
  ): Promise<CreateApiKeyResult> {
    const { orgId, userId } = call.principal;
    const { name, scopes, expiresAt = null } = input;
    if (expiresAt !== null && expiresAt.getTime() <= Date.now())
      throw invalid('expiresAt must be in the future', 'expiresAt');
    const { key, ...apiKey } = await services.keys.create({ orgId, userId, name, scopes, expiresAt });
    return { apiKey, key };
  }

  @People('admin')
  @Mutation(() => RevokeApiKeyResult, {
    description:
      'Revokes an API key at once and for ever, and closes its open connections. Only owners and admins may do this.',
  })
  async revokeApiKey(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the key.' }) id: string,
  ): Promise<RevokeApiKeyResult> {
    const { orgId } = call.principal;
    const revoked = await services.keys.revoke(id, orgId);
    const apiKey = (await services.keys.list(orgId)).find((key) => key.id === revoked.id);
    if (apiKey === undefined) throw new Error('a key that was just revoked is not there');
    return { success: true, apiKey };
  }
}
