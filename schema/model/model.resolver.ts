import { Arg, Ctx, ID, Query, Resolver } from 'type-graphql';
import { notFound } from '../../src/errors.js';
import type { ModelType as Type, Tier } from '../../src/vocabulary.js';
import type { GraphqlContext } from '../context.js';
import { ModelTier, ModelType } from '../enums.js';
import { ModelObject, showModel } from './model.type.js';

@Resolver(() => ModelObject)
export class ModelResolver {
  @Query(() => [ModelObject], { description: 'The catalogue, with prices and availability.' })
  models(
    @Ctx() { services }: GraphqlContext,
    @Arg('type', () => ModelType, { nullable: true }) type: Type | null | undefined,
    @Arg('provider', () => String, { nullable: true }) provider: string | null | undefined,
    @Arg('tier', () => ModelTier, { nullable: true }) tier: Tier | null | undefined,
    @Arg('available', () => Boolean, { nullable: true }) available: boolean | null | undefined,
  ): ModelObject[] {
    const filter = {
      ...(type == null ? {} : { type }),
      ...(provider == null ? {} : { provider }),
      ...(tier == null ? {} : { tier }),
      ...(available == null ? {} : { available }),
    };
    return services.models.list(filter).map(showModel);
  }

  @Query(() => ModelObject, { description: 'One model by its id `<provider>/<name>`.' })
  model(@Ctx() { services }: GraphqlContext, @Arg('id', () => ID) id: string): ModelObject {
    const model = services.models.find(id);
    if (model === null) throw notFound('Model not found');
    return showModel(model);
  }
}
