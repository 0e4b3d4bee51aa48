import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { Budget, BudgetSubject } from '../../src/metering/index.js';
import { After, Before, First, FirstOrAll, Last, pageOrAll, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { People, Scope } from '../guard.js';
import { CreateBudgetInput, UpdateBudgetInput } from './budget.input.js';
import { BudgetConnection, BudgetSubjectConnection, BudgetType, DeleteBudgetResult } from './budget.type.js';

/** Budgets are made by people; keys with the scope `usage` read them (beyond 13.3). */
@Resolver()
export class BudgetResolver {
  @Scope('usage')
  @Query(() => BudgetConnection, {
    description: "The organisation's budgets, in the order in which they are checked.",
  })
  async budgets(
    @Ctx() { call, services }: GraphqlContext,
    @FirstOrAll() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Budget>> {
    const page = pageOrAll({ first, after, last, before });
    return toConnection(await services.budgets.page(call.principal.orgId, page), after);
  }

  @Scope('usage')
  @Query(() => BudgetSubjectConnection, {
    description: 'The keys, end users or tags that a budget has counted for in the current period, by name.',
  })
  async budgetSubjects(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the budget.' }) id: string,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<BudgetSubject>> {
    const page = pageQuery({ first, after, last, before });
    return toConnection(await services.budgets.subjects(call.principal.orgId, id, page), after);
  }

  @People('admin')
  @Mutation(() => BudgetType, {
    description: 'Creates a budget. It counts calls from now on. Only owners and admins may do this.',
  })
  createBudget(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('input', () => CreateBudgetInput, { description: 'The budget.' }) input: CreateBudgetInput,
  ): Promise<Budget> {
    return services.budgets.create(call.principal.orgId, input);
  }

  @People('admin')
  @Mutation(() => BudgetType, {
    description:
      'Changes a budget. The spent amount stays, and no threshold is reported twice in a period. Only owners and admins may do this.',
  })
  updateBudget(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the budget.' }) id: string,
    @Arg('input', () => UpdateBudgetInput, { description: 'The changes.' })
    { name, limit, hard, thresholds }: UpdateBudgetInput,
  ): Promise<Budget> {
    return services.budgets.update(call.principal.orgId, id, {
      ...(name == null ? {} : { name }),
      ...(limit == null ? {} : { limit }),
      ...(hard == null ? {} : { hard }),
      ...(thresholds === undefined ? {} : { thresholds }),
    });
  }

  @People('admin')
  @Mutation(() => DeleteBudgetResult, {
    description: 'Deletes a budget and its counters. Only owners and admins may do this.',
  })
  async deleteBudget(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the budget.' }) id: string,
  ): Promise<DeleteBudgetResult> {
    return { id, budget: await services.budgets.delete(id, call.principal.orgId) };
  }
}
