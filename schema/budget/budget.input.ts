import { Extensions, Field, Float, InputType } from 'type-graphql';
import type {
  BudgetAmount as Amount,
  BudgetPeriod as Period,
  BudgetScope as ScopeWord,
  BudgetUnit as Unit,
} from '../../src/contract/budgets.js';
import { BudgetPeriod, BudgetScope, BudgetUnit } from '../enums.js';
import { nonBlank } from '../json-schemas.js';
import { BudgetAmount } from '../scalars.js';

const HARD = 'Whether calls that do not fit are refused. False: they pass, and are counted.';
const THRESHOLDS =
  'Parts of the limit, above 0 and at most 1, at which the event `budget.threshold` is sent. Default: 0.5, 0.8 and 1.';

@InputType({ description: 'A new budget.' })
export class CreateBudgetInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'A name for people. The error of a refused call names it.' })
  name!: string;

  @Field(() => BudgetScope, { description: 'Whose calls it counts.' })
  scope!: ScopeWord;

  @Field(() => String, {
    nullable: true,
    description:
      'The id of a key, an end user or a tag; `*` counts each of them separately. Absent for a budget of the organisation.',
  })
  subject?: string | null;

  @Field(() => BudgetUnit, { description: 'What it counts.' })
  unit!: Unit;

  @Field(() => BudgetAmount, { description: 'The most that may be spent in a period.' })
  limit!: Amount;

  @Field(() => BudgetPeriod, { description: 'The period after which it starts again from 0.' })
  period!: Period;

  @Field(() => Boolean, { defaultValue: true, description: HARD })
  hard!: boolean;

  @Field(() => [Float], { nullable: true, description: THRESHOLDS })
  thresholds?: number[] | null;
}

@InputType({ description: 'The changes to a budget. Absent fields keep their values.' })
export class UpdateBudgetInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { nullable: true, description: 'A name for people.' })
  name?: string | null;

  @Field(() => BudgetAmount, {
    nullable: true,
    description: 'The most that may be spent in a period, including the current one.',
  })
  limit?: Amount | null;

  @Field(() => Boolean, { nullable: true, description: HARD })
  hard?: boolean | null;

  @Field(() => [Float], { nullable: true, description: THRESHOLDS })
  thresholds?: number[] | null;
}
