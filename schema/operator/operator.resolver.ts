import { Arg, Ctx, Float, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { KeyRecord } from '../../src/access/index.js';
import { invalid } from '../../src/contract/errors.js';
import type { Bucket, PlanCode as Plan } from '../../src/contract/words.js';
import type { DeadLetter } from '../../src/events/index.js';
import type {
  OperatedOrganization as Organization,
  ProviderHealth,
  QueueDepth,
} from '../../src/operator/index.js';
import type { OverallDimension } from '../../src/usage/usage.types.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { BucketName, PlanCode } from '../enums.js';
import { OperatedUsageDimension } from './operator.enums.js';
import { Operators } from '../guard.js';
import { DateTime } from '../scalars.js';
import { showUsage } from './operator-edges.resolver.js';
import {
  OperatedApiKey,
  OperatedApiKeyConnection,
  OperatedDeadLetter,
  OperatedOrganization,
  OperatedOrganizationConnection,
  OperatedProvider,
  OperatedQueue,
  OperatedUsage,
  ReplayOperatedDeadLettersResult,
} from './operator.type.js';

const ONLY = 'Only operators of the installation may do this, signed in.';
const organizationArgument = { description: 'Id of the organisation.' };

/** Work of operators, from the dashboard and the command line. Each field checks that the caller is an operator. */
@Resolver()
export class OperatorResolver {
  @Operators()
  @Query(() => OperatedOrganizationConnection, {
    description: `All organisations, newest first. ${ONLY}`,
  })
  async operatedOrganizations(
    @Ctx() { services }: GraphqlContext,
    @Arg('search', () => String, {
      nullable: true,
      description: "Part of a name, an id, or a member's e-mail address.",
    })
    text: string | null | undefined,
    @Arg('planCode', () => PlanCode, { nullable: true, description: 'Only organisations with this plan.' })
    planCode: Plan | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Organization>> {
    const search = { text, planCode, ...pageQuery({ first, after, last, before }) };
    return toConnection(await services.operator.organizations(search), after);
  }

  @Operators()
  @Query(() => OperatedOrganization, { nullable: true, description: `One organisation. ${ONLY}` })
  operatedOrganization(
    @Ctx() { services }: GraphqlContext,
    @Arg('id', () => ID, organizationArgument) id: string,
  ): Promise<Organization> {
    return services.operator.organization(id);
  }

  @Operators()
  @Query(() => OperatedApiKeyConnection, {
    description: `The API keys of an organisation, oldest first, including revoked keys. ${ONLY}`,
  })
  async operatedApiKeys(
    @Ctx() { services }: GraphqlContext,
    @Arg('organizationId', () => ID, organizationArgument) organizationId: string,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<KeyRecord>> {
    const { id } = await services.operator.organization(organizationId);
    return toConnection(await services.keys.page(id, pageQuery({ first, after, last, before })), after);
  }

  @Operators()
  @Query(() => [OperatedProvider], {
    description: `The providers of models, their availability, and the outcome of their calls. ${ONLY}`,
  })
  operatedProviders(@Ctx() { services }: GraphqlContext): Promise<ProviderHealth[]> {
    return services.operator.providers();
  }

  @Operators()
  @Query(() => [OperatedQueue], { description: `Waiting and running work of all organisations. ${ONLY}` })
  operatedQueues(@Ctx() { services }: GraphqlContext): Promise<QueueDepth[]> {
    return services.operator.queues();
  }

  @Operators()
  @Query(() => [OperatedDeadLetter], {
    description: `Events that a consumer could not process, oldest first; at most 1,000 from the table and 1,000 from the topic. ${ONLY}`,
  })
  operatedDeadLetters(@Ctx() { services }: GraphqlContext): Promise<DeadLetter[]> {
    return services.operator.deadLetters.list();
  }

  @Operators()
  @Query(() => [OperatedUsage], {
    description: `The usage of all organisations, highest cost first; at most a minute old, at most 1,000 rows. ${ONLY}`,
  })
  async operatedUsage(
    @Ctx() { services }: GraphqlContext,
    @Arg('since', () => DateTime, {
      nullable: true,
      description: 'From this day (UTC) on. Default: 30 days before `until`.',
    })
    since: Date | null | undefined,
    @Arg('until', () => DateTime, {
      nullable: true,
      description: 'Until the end of this day. Default: today.',
    })
    until: Date | null | undefined,
    @Arg('groupBy', () => [OperatedUsageDimension], {
      nullable: true,
      description: 'Default: one row for everything.',
    })
    groupBy: OverallDimension[] | null | undefined,
  ): Promise<OperatedUsage[]> {
    return (await services.usage.overall({ since, until, groupBy: groupBy ?? [] })).map(showUsage);
  }

  @Operators()
  @Mutation(() => OperatedOrganization, { description: `Changes an organisation's plan at once. ${ONLY}` })
  changeOperatedPlan(
    @Ctx() { services }: GraphqlContext,
    @Arg('organizationId', () => ID, organizationArgument) organizationId: string,
    @Arg('planCode', () => PlanCode, { description: 'The plan.' }) planCode: Plan,
  ): Promise<Organization> {
    return services.operator.changePlan(organizationId, planCode);
  }

  @Operators()
  @Mutation(() => OperatedOrganization, {
    description: `Adds units that do not expire to a bucket of an organisation. ${ONLY}`,
  })
  topUpOperatedQuota(
    @Ctx() { services }: GraphqlContext,
    @Arg('organizationId', () => ID, organizationArgument) organizationId: string,
    @Arg('bucket', () => BucketName, { description: 'The bucket.' }) bucket: Bucket,
    @Arg('amount', () => Float, { description: 'In units of the bucket, with up to two decimals.' })
    amount: number,
  ): Promise<Organization> {
    const hundredths = Math.round(amount * 100);
    if (Math.abs(amount * 100 - hundredths) > 1e-6)
      throw invalid('amount must be more than zero, with at most two decimals', 'amount');
    return services.operator.topUp(organizationId, bucket, hundredths);
  }

  @Operators()
  @Mutation(() => OperatedApiKey, {
    description: `Revokes an API key of an organisation at once and for ever, and closes its open connections. ${ONLY}`,
  })
  async revokeOperatedApiKey(
    @Ctx() { services }: GraphqlContext,
    @Arg('organizationId', () => ID, organizationArgument) organizationId: string,
    @Arg('id', () => ID, { description: 'Id of the key.' }) id: string,
  ): Promise<OperatedApiKey> {
    const revoked = await services.keys.revoke(id, organizationId);
    const [apiKey] = await services.keys.getMany(organizationId, [revoked.id]);
    if (apiKey === undefined) throw new Error('a key that was just revoked is not there');
    return apiKey;
  }

  @Operators()
  @Mutation(() => ReplayOperatedDeadLettersResult, {
    description: `Sends dead letters again: all of them, or one. ${ONLY}`,
  })
  async replayOperatedDeadLetters(
    @Ctx() { services }: GraphqlContext,
    @Arg('id', () => ID, { nullable: true, description: 'Id of one dead letter. Default: all.' })
    id: string | null | undefined,
  ): Promise<ReplayOperatedDeadLettersResult> {
    const { replayed, letters } = await services.operator.deadLetters.replay(id ?? undefined);
    return { replayed, deadLetters: letters };
  }
}
