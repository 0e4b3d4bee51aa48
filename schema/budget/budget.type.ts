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
    'A limit on what calls may spend in a period. It counts calls that were admitted after its creation.',
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
      'The id of a key, an end user or a tag; `*` if it counts each of them separately; null for a budget of the organisation.',
  })
  subject!: string | null;

  @Field(() => BudgetUnit, { description: 'What it counts.' })
  unit!: Unit;

  @Field(() => BudgetAmount, { description: 'The most that may be spent in a period.' })
  limit!: Amount;

  @Field(() => BudgetPeriod, { description: 'The period after which it starts again from 0.' })
  period!: Period;

  @Field(() => DateTime, {
    description: 'The time from which calls count in the current period.',
  })
  countsFrom!: string;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the current period ends; null if it never ends.',
  })
  resetsAt!: string | null;

  @Field(() => BudgetAmount, {
    description: 'What finished calls have spent in the current period; for `*`: of all subjects together.',
  })
  spent!: Amount;

  @Field(() => BudgetAmount, {
    description: 'What is reserved for running calls; for `*`: of all subjects together.',
  })
  reserved!: Amount;

  @Field(() => BudgetAmount, {
    nullable: true,
    description: 'What is left: the limit minus the spent and the reserved amount; null for `*`.',
  })
  remaining!: Amount | null;

  @Field(() => Boolean, { description: 'Whether calls that exceed it are refused.' })
  hard!: boolean;

  @Field(() => [Float], {
    description:
      'The fractions of the limit at which the event `budget.threshold` is sent, once in each period for each subject.',
  })
  thresholds!: number[];
}

export const BudgetConnection = connectionType('Budget', () => BudgetType);

@ObjectType('BudgetSubject', {
  simpleResolvers: true,
  description: 'What one key, end user or tag has spent of a budget in the current period.',
})
export class BudgetSubjectType {
  @Field(() => String, {
    nullable: true,
    description: 'The id of the key, the end user or the tag; null for the organisation.',
  })
  subject!: string | null;

  @Field(() => BudgetAmount, { description: 'What its finished calls have spent.' })
  spent!: Amount;

  @Field(() => BudgetAmount, { description: 'What is reserved for its running calls.' })
  reserved!: Amount;

  @Field(() => BudgetAmount, { description: 'What is left of the limit.' })
  remaining!: Amount;
}

export const BudgetSubjectConnection = connectionType('BudgetSubject', () => BudgetSubjectType);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteBudget.' })
export class DeleteBudgetResult {
  @Field(() => ID, { description: 'Id of the deleted budget.' })
  id!: string;

  @Field(() => BudgetType, { description: 'The budget as it was.' })
  budget!: BudgetType;
}
