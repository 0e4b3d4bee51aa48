import { Arg, Ctx, ID, Int, Mutation, Query, Resolver } from 'type-graphql';
import type { KeyRecord } from '../../src/access/index.js';
import { invalid } from '../../src/contract/errors.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { People } from '../guard.js';
import { CreateApiKeyInput, UpdateApiKeyInput } from './api-key.input.js';
import {
  ApiKeyConnection,
  ApiKeyType,
  CreateApiKeyResult,
  RevokeApiKeyResult,
  RotateApiKeyResult,
} from './api-key.type.js';

/** @throws ApiError invalid_request */
function checkLimits(
  { expiresAt, rate }: Pick<UpdateApiKeyInput, 'expiresAt' | 'rate'>,
  { plan }: GraphqlContext['call']['principal'],
): void {
  if (expiresAt != null && expiresAt.getTime() <= Date.now())
    throw invalid('expiresAt must be in the future', 'expiresAt');
  if (rate == null) return;
  for (const name of ['rpm', 'burst'] as const)
    if (rate[name] > plan.rate[name])
      throw invalid(`rate.${name} must be at most ${plan.rate[name]}`, 'rate');
}

/** Keys are made and revoked by people, not by keys (contract 5.3, decisions 5). */
@Resolver()
export class ApiKeyResolver {
  @People('admin')
  @Query(() => ApiKeyConnection, {
    description:
      "The organisation's API keys, oldest first, including revoked keys. Only owners and admins may read them.",
  })
  async apiKeys(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('createdBy', () => String, {
      nullable: true,
      description:
        'Only keys that this e-mail address or the `command line` created. The person may have left the organisation since.',
    })
    createdBy: string | null,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<KeyRecord>> {
    const query = { createdBy, ...pageQuery({ first, after, last, before }) };
    return toConnection(await services.keys.page(call.principal.orgId, query), after);
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
    checkLimits(input, call.principal);
    const { tags, ...given } = input;
    const { key, ...apiKey } = await services.keys.create({ orgId, userId, ...given, tags: tags ?? [] });
    return { apiKey, key };
  }

  @People('admin')
  @Mutation(() => ApiKeyType, {
    description:
      'Changes a key. The changes apply to its next calls; open connections stay open. Only owners and admins may do this.',
  })
  updateApiKey(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the key.' }) id: string,
    @Arg('input', () => UpdateApiKeyInput, { description: 'The changes.' })
    input: UpdateApiKeyInput,
  ): Promise<ApiKeyType> {
    checkLimits(input, call.principal);
    const { name, scopes, tags, ...nullable } = input;
    return services.keys.update(id, call.principal.orgId, {
      ...nullable,
      ...(name == null ? {} : { name }),
      ...(scopes == null ? {} : { scopes }),
      ...(tags === undefined ? {} : { tags: tags ?? [] }),
    });
  }

  @People('admin')
  @Mutation(() => RotateApiKeyResult, {
    description:
      'Gives a key a new secret; its id and its limits stay the same. The earlier secret is valid for another `overlapSeconds`; with 0 it is refused at once. Only owners and admins may do this.',
  })
  async rotateApiKey(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the key.' }) id: string,
    @Arg('overlapSeconds', () => Int, {
      defaultValue: 0,
      description: 'How long both secrets are valid: 0 to 604,800 seconds (seven days).',
    })
    overlapSeconds: number,
  ): Promise<RotateApiKeyResult> {
    const { key, ...apiKey } = await services.keys.rotate(id, overlapSeconds, call.principal.orgId);
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
    const [apiKey] = await services.keys.getMany(orgId, [revoked.id]);
    if (apiKey === undefined) throw new Error('a key that was just revoked is not there');
    return { success: true, apiKey };
  }
}
