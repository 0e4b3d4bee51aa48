import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Model } from '../../src/models/models.types.js';
import type { Bucket, ModelType as Type, Tier } from '../../src/contract/words.js';
import { PRICED_TOKENS, PRICED_UNITS, shownUsd } from '../../src/pricing/index.js';
import type { PricedToken, PricedUnit, PriceVersion, Rates } from '../../src/pricing/pricing.types.js';
import { Decimal, PriceUnit } from '../scalars.js';
import { BucketName, ModelTier, ModelType } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The price before the multiplier.' })
export class ModelPricing {
  @Field(() => PriceUnit, { description: 'What the price is for.' })
  unit!: string;

  @Field(() => BucketName, { description: 'The bucket that is charged.' })
  bucket!: Bucket;

  @Field(() => Float, {
    description: 'The amount charged to the bucket for one unit, before the multiplier.',
  })
  amount!: number;

  @Field(() => Float, { description: 'Credits for one unit, before the multiplier.' })
  credits!: number;
}

@ObjectType({ simpleResolvers: true })
abstract class TokenCost {
  @Field(() => Decimal, { nullable: true, description: 'A million tokens of input.' })
  input!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description: 'A million tokens of input that the upstream had cached; null: as input.',
  })
  cachedInput!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description: 'A million tokens of input that the upstream cached; null: as input.',
  })
  cacheWrite!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'A million tokens of output.' })
  output!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description: 'A million tokens of reasoning, a part of output; null: as output.',
  })
  reasoning!: string | null;
}

@ObjectType({
  simpleResolvers: true,
  description: 'Costs of calls with a long prompt, in USD. What is null costs as in other calls.',
})
export class ModelLongContextCost extends TokenCost {
  @Field(() => Int, { description: 'Prompts of more tokens than this are long.' })
  above!: number;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'What a model costs at its upstream, in USD, until its next version. What is null has no price.',
})
export class ModelCost extends TokenCost {
  @Field(() => String, {
    description:
      'From when on it holds, UTC; the first version may hold from the beginning, and then names the day of its source, or `start`.',
  })
  from!: string;

  @Field(() => Decimal, { nullable: true, description: 'An image.' })
  image!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'An edit.' })
  edit!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'A second.' })
  second!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'A piece of music.' })
  track!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'A character.' })
  character!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'A search of a reranker.' })
  search!: string | null;

  @Field(() => ModelLongContextCost, {
    nullable: true,
    description: 'Other costs of calls with a long prompt.',
  })
  longContext!: ModelLongContextCost | null;
}

@ObjectType({ simpleResolvers: true, description: 'The types of input and output of a model.' })
export class ModelModalities {
  @Field(() => [String], { description: 'Such as text, image, audio.' })
  input!: readonly string[];

  @Field(() => [String], { description: 'Such as text, image, audio.' })
  output!: readonly string[];
}

/** decisions 6, "Models". */
@Directive('@key(fields: "id")')
@ObjectType('Model', { simpleResolvers: true, description: 'A model of the catalogue.' })
export class ModelObject {
  @Field(() => ID, { description: '`<provider>/<name>`.' })
  id!: string;

  @Field(() => String, { description: '`model`.' })
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String, { description: 'The organisation that made the model.' })
  ownedBy!: string;

  @Field(() => String, { description: 'Its name for people.' })
  name!: string;

  @Field(() => String, { description: 'What stands before the first `/` of its id.' })
  provider!: string;

  @Field(() => ModelType, { description: 'What it does.' })
  type!: Type;

  @Field(() => ModelTier, { description: 'Its price class. A plan allows some of the tiers.' })
  tier!: Tier;

  @Field(() => Float, { description: 'The factor by which the base price is multiplied.' })
  multiplier!: number;

  @Field(() => ModelPricing, { description: 'The price of a unit.' })
  pricing!: ModelPricing;

  @Field(() => Int, {
    nullable: true,
    description:
      'The maximum number of tokens in prompt and answer together; null if the model has no such limit.',
  })
  contextWindow!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'The maximum number of tokens in an answer; null if the model has no such limit.',
  })
  maxOutputTokens!: number | null;

  @Field(() => ModelModalities, { description: 'The types of input and output.' })
  modalities!: ModelModalities;

  @Field(() => Boolean, { description: 'Whether it is the default model of its type.' })
  default!: boolean;

  @Field(() => Boolean, { description: 'Whether its provider is configured here.' })
  available!: boolean;

  @Field(() => [ModelCost], {
    description: 'What it costs at its upstream, in order of time. Empty: that is not known.',
  })
  cost!: ModelCost[];
}

function shownRates<Name extends PricedToken | PricedUnit>(
  rates: Rates<Name>,
  names: readonly Name[],
): Record<Name, string | null> {
  return Object.fromEntries(names.map((name) => [name, shownUsd(rates, name)])) as Record<
    Name,
    string | null
  >;
}

function showCost({ from, rates, longContext }: PriceVersion): ModelCost {
  return {
    from,
    ...shownRates<PricedToken | PricedUnit>(rates, [...PRICED_TOKENS, ...PRICED_UNITS]),
    longContext: longContext && {
      above: longContext.above,
      ...shownRates(longContext.rates, PRICED_TOKENS),
    },
  };
}

/** Immutable entries of the catalogue, shown once each. */
const shown = new WeakMap<Model, ModelObject>();

export function showModel(model: Model): ModelObject {
  let object = shown.get(model);
  if (!object) {
    object = {
      ...model,
      object: 'model',
      multiplier: model.multiplier / 100,
      cost: model.cost.map(showCost),
    };
    shown.set(model, object);
  }
  return object;
}
