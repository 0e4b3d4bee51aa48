import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Model } from '../../src/models/models.types.js';
import type { Bucket, ModelType as Type, Tier } from '../../src/contract/words.js';
import { BucketName, ModelTier, ModelType } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The price before the multiplier.' })
export class ModelPricing {
  @Field(() => String, { description: '1k_tokens, image, edit, second, track or character.' })
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
}

/** Immutable entries of the catalogue, shown once each. */
const shown = new WeakMap<Model, ModelObject>();

export function showModel(model: Model): ModelObject {
  let object = shown.get(model);
  if (!object) {
    object = { ...model, object: 'model', multiplier: model.multiplier / 100 };
    shown.set(model, object);
  }
  return object;
}
