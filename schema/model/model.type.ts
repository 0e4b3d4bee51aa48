import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Model } from '../../src/models/models.types.js';
import type { Bucket, ModelType as Type, Tier } from '../../src/contract/words.js';
import { BucketName, ModelTier, ModelType } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The price before the multiplier.' })
export class ModelPricing {
  @Field(() => String, { description: '1k_tokens, image, edit, second, track or character.' })
  unit!: string;

  @Field(() => BucketName, { description: 'The bucket that pays.' })
  bucket!: Bucket;

  @Field(() => Float, { description: 'Units of the bucket for one unit, before the multiplier.' })
  amount!: number;

  @Field(() => Float, { description: 'Credits for one unit, before the multiplier.' })
  credits!: number;
}

@ObjectType({ simpleResolvers: true, description: 'What a model takes and gives.' })
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

  @Field(() => String, { description: 'Who made it.' })
  ownedBy!: string;

  @Field(() => String, { description: 'Its name for people.' })
  name!: string;

  @Field(() => String, { description: 'What stands before the first `/` of its id.' })
  provider!: string;

  @Field(() => ModelType, { description: 'What it does.' })
  type!: Type;

  @Field(() => ModelTier, { description: 'Its price class, which a plan allows or not.' })
  tier!: Tier;

  @Field(() => Float, { description: 'What the base price is multiplied by.' })
  multiplier!: number;

  @Field(() => ModelPricing, { description: 'What a unit costs.' })
  pricing!: ModelPricing;

  @Field(() => Int, {
    nullable: true,
    description: 'Tokens of prompt and answer together; null where it has none.',
  })
  contextWindow!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Most tokens of an answer; null where it has no such bound.',
  })
  maxOutputTokens!: number | null;

  @Field(() => ModelModalities, { description: 'What goes in and comes out.' })
  modalities!: ModelModalities;

  @Field(() => Boolean, { description: 'What a call of its type uses when it names no model.' })
  default!: boolean;

  @Field(() => Boolean, { description: 'Its provider is configured here.' })
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
