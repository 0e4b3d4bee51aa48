import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { Model } from '../../src/models/models.types.js';
import type { Bucket, ModelType as Type, Tier } from '../../src/vocabulary.js';
import { BucketName, ModelTier, ModelType } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The price before the multiplier.' })
export class ModelPricing {
  @Field(() => String, { description: '1k_tokens, image, edit, second, track or character.' })
  unit!: string;

  @Field(() => BucketName)
  bucket!: Bucket;

  @Field(() => Float)
  amount!: number;

  @Field(() => Float)
  credits!: number;
}

@ObjectType({ simpleResolvers: true })
export class ModelModalities {
  @Field(() => [String])
  input!: string[];

  @Field(() => [String])
  output!: string[];
}

/** decisions.md 6, "Models". */
@Directive('@key(fields: "id")')
@ObjectType('Model', { simpleResolvers: true, description: 'A model of the catalogue.' })
export class ModelObject {
  @Field(() => ID, { description: '`<provider>/<name>`.' })
  id!: string;

  @Field(() => String)
  object!: string;

  @Field(() => Int, { description: 'Unix seconds.' })
  created!: number;

  @Field(() => String)
  ownedBy!: string;

  @Field(() => String)
  name!: string;

  @Field(() => String)
  provider!: string;

  @Field(() => ModelType)
  type!: Type;

  @Field(() => ModelTier)
  tier!: Tier;

  @Field(() => Float)
  multiplier!: number;

  @Field(() => ModelPricing)
  pricing!: ModelPricing;

  @Field(() => Int, { nullable: true })
  contextWindow!: number | null;

  @Field(() => Int, { nullable: true })
  maxOutputTokens!: number | null;

  @Field(() => ModelModalities)
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
