import { Field, Float, ID, ObjectType } from 'type-graphql';
import type {
  BudgetAmount as Amount,
  BudgetPeriod as Period,
  BudgetScope as ScopeWord,
  BudgetUnit as Unit,
} from '../../src/contract/budgets.js';
import { connectionType } from '../connection.js';
import { BudgetPeriod, BudgetScope, BudgetUnit } from '../enums.js';
import { BudgetAmount, DateTime } from '../scalars.js';

@ObjectType('Budget', {
  simpleResolvers: true,
  description:
    'A limit to what calls may spend in a period. It counts calls that were admitted after its creation.',
})
export class BudgetType {
  @Field(() => ID, { description: 'Its id, `bud_…`. Budgets are checked in the order of their ids.' })
  id!: string;

  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => BudgetScope, { description: 'Whose calls it counts.' })
  scope!: ScopeWord;

  @Field(() => String, {
    nullable: true,
    description:
      'The id of a key, an end user or a tag; `*`: it counts for each by itself; null: the organisation.',
  })
  subject!: string | null;

  @Field(() => BudgetUnit, { description: 'What it counts.' })
  unit!: Unit;

  @Field(() => BudgetAmount, { description: 'The most that may be spent in a period.' })
  limit!: Amount;

  @Field(() => BudgetPeriod, { description: 'The period after which it begins anew.' })
  period!: Period;

  @Field(() => DateTime, {
    description: 'From when on calls are counted in the current period.',
  })
  countsFrom!: string;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the current period ends; null if it never ends.',
  })
  resetsAt!: string | null;

  @Field(() => BudgetAmount, {
    description: 'What ended calls have spent in the current period; of `*`, all subjects together.',
  })
  spent!: Amount;

  @Field(() => BudgetAmount, {
    description: 'What open calls may still spend; of `*`, those of all subjects together.',
  })
  reserved!: Amount;

  @Field(() => BudgetAmount, {
    nullable: true,
    description: 'What is left: the limit minus the spent and the reserved amount; null of `*`.',
  })
  remaining!: Amount | null;

  @Field(() => Boolean, { description: 'Whether calls that do not fit are refused.' })
  hard!: boolean;

  @Field(() => [Float], {
    description:
      'Parts of the limit at which the event `budget.threshold` is sent, once in a period for each subject.',
  })
  thresholds!: number[];
}

@ObjectType('BudgetSubject', {
  simpleResolvers: true,
  description: 'What one key, end user or tag has spent of a budget in the current period.',
})
export class BudgetSubjectType {
  @Field(() => String, {
    nullable: true,
    description: 'The id of the key, the end user or the tag; null: the organisation.',
  })
  subject!: string | null;

  @Field(() => BudgetAmount, { description: 'What its ended calls have spent.' })
  spent!: Amount;

  @Field(() => BudgetAmount, { description: 'What its open calls may still spend.' })
  reserved!: Amount;

  @Field(() => BudgetAmount, { description: 'What is left of the limit.' })
  remaining!: Amount;
}

export const BudgetSubjectConnection = connectionType('BudgetSubject', () => BudgetSubjectType);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteBudget.' })
export class DeleteBudgetResult {
  @Field(() => ID, { description: 'Id of the deleted budget.' })
  id!: string;
}
