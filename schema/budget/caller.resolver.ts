import { Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import type { Budget } from '../../src/metering/index.js';
import { ApiKeyType } from '../api-key/api-key.type.js';
import type { GraphqlContext } from '../context.js';
import { Caller } from '../organization/organization.type.js';
import { Decimal } from '../scalars.js';
import { BudgetType } from './budget.type.js';
import { callersSpend, spendOf } from './spend.js';

const SPEND =
  'What its calls have cost at their upstreams in the current month, UTC, in USD; a minute old at most.';

/** The budgets and the spend of a caller (beyond 13.4). */
@Resolver(() => Caller)
export class CallerBudgetsResolver {
  @FieldResolver(() => [BudgetType], {
    description:
      'The budgets that concern all of its calls: of the organisation, the key, and the end user and tags that the key stamps. A budget of `*` stands there with the subject that it is for the caller.',
  })
  budgets(@Ctx() { call, services }: GraphqlContext): Promise<Budget[]> {
    return services.budgets.ofCaller(call.principal);
  }

  @FieldResolver(() => Decimal, { description: SPEND })
  spend(@Ctx() context: GraphqlContext): Promise<string> {
    return callersSpend(context);
  }
}

@Resolver(() => ApiKeyType)
export class KeySpendResolver {
  @FieldResolver(() => Decimal, { description: SPEND })
  spend(@Ctx() context: GraphqlContext, @Root() { id }: ApiKeyType): Promise<string> {
    return spendOf(context, id);
  }
}
