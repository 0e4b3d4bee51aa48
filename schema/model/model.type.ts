import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Model, ModelCatalogue } from '../../src/models/models.types.js';
import type { Bucket, ModelType as Type, Tier } from '../../src/contract/words.js';
import { PRICED_TOKENS, PRICED_UNITS, shownUsd } from '../../src/pricing/index.js';
import type { PricedToken, PricedUnit, PriceVersion, Rates } from '../../src/pricing/pricing.types.js';
import { Decimal, PriceUnit } from '../scalars.js';
import { BucketName, ModelTier, ModelType } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The price before the multiplier.' })
export class ModelPricing {
  @Field(() => PriceUnit, { description: 'The unit of the price.' })
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
  @Field(() => Decimal, { nullable: true, description: 'The price of a million tokens of input.' })
  input!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description:
      "The price of a million tokens that were read from the upstream's cache; null: the price of input.",
  })
  cachedInput!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description:
      "The price of a million tokens that were written to the upstream's cache; null: the price of input.",
  })
  cacheWrite!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of a million tokens of output.' })
  output!: string | null;

  @Field(() => Decimal, {
    nullable: true,
    description:
      'The price of a million tokens of reasoning, which is a part of the output; null: the price of output.',
  })
  reasoning!: string | null;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'The prices of calls with a long prompt, in USD. If a price is null, the price of other calls applies.',
})
export class ModelLongContextCost extends TokenCost {
  @Field(() => Int, { description: 'A prompt with more tokens than this is long.' })
  above!: number;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'A version of the prices of a model at its upstream, in USD. It is valid until the next version. Null: there is no such price.',
})
export class ModelCost extends TokenCost {
  @Field(() => String, {
    description:
      'The time from which it is valid, UTC. If the first version has always been valid, this is the day of its source, or `start`.',
  })
  from!: string;

  @Field(() => Decimal, { nullable: true, description: 'The price of an image.' })
  image!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of an edit.' })
  edit!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of a second.' })
  second!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of a piece of music.' })
  track!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of a character.' })
  character!: string | null;

  @Field(() => Decimal, { nullable: true, description: 'The price of a search by a reranker.' })
  search!: string | null;

  @Field(() => ModelLongContextCost, {
    nullable: true,
    description: 'The prices of calls with a long prompt, if they differ.',
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

  @Field(() => String, { description: 'The part of its id before the first `/`.' })
  provider!: string;

  @Field(() => ModelType, { description: 'Its type.' })
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
    description: 'The versions of its prices at its upstream, in order of time. Empty if they are not known.',
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

/** Cached GraphQL objects of the catalogue's immutable entries. */
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

/** The model of an edge; null if there is none, or it is no longer in the catalogue. */
export function modelOf(models: Pick<ModelCatalogue, 'find'>, id: string | null): ModelObject | null {
  const found = id === null ? null : models.find(id);
  return found == null ? null : showModel(found);
}
