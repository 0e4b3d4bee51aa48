import { Arg, Ctx, ID, Query, Resolver } from 'type-graphql';
import { ApiError } from '../../src/contract/errors.js';
import { callableModels } from '../../src/generation/index.js';
import type { ModelType as Type, Tier } from '../../src/contract/words.js';
import type { GraphqlContext } from '../context.js';
import { ModelTier, ModelType } from '../enums.js';
import { ModelObject, showModel } from './model.type.js';

@Resolver(() => ModelObject)
export class ModelResolver {
  @Query(() => [ModelObject], { description: 'The catalogue, with prices and availability.' })
  models(
    @Ctx() { services }: GraphqlContext,
    @Arg('type', () => ModelType, { nullable: true, description: 'Only models of one type.' }) type:
      | Type
      | null
      | undefined,
    @Arg('provider', () => String, {
      nullable: true,
      description: 'Only models of this provider. The provider is the part of the id before the first `/`.',
    })
    provider: string | null | undefined,
    @Arg('tier', () => ModelTier, { nullable: true, description: 'Only models of one tier.' }) tier:
      | Tier
      | null
      | undefined,
    @Arg('available', () => Boolean, {
      nullable: true,
      description: 'true: only models whose provider is configured here. false: only the other models.',
    })
    available: boolean | null | undefined,
  ): ModelObject[] {
    const filter = {
      ...(type == null ? {} : { type }),
      ...(provider == null ? {} : { provider }),
      ...(tier == null ? {} : { tier }),
      ...(available == null ? {} : { available }),
    };
    return services.models.list(filter).map(showModel);
  }

  @Query(() => [ModelObject], {
    description:
      'The models that the key may call: available models of its scopes and of the tiers that its plan allows, and their aliases, each as an entry with its own id.',
  })
  callableModels(@Ctx() { call, services }: GraphqlContext): ModelObject[] {
    return callableModels(services.models, call.principal).map(({ name, model }) =>
      name === model.id ? showModel(model) : { ...showModel(model), id: name },
    );
  }

  @Query(() => ModelObject, { description: 'One model by its id `<provider>/<name>`.' })
  model(
    @Ctx() { services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Its id, `<provider>/<name>`.' }) id: string,
  ): ModelObject {
    const model = services.models.find(id);
    if (model === null) throw new ApiError('not_found', 'Model not found', { reason: 'model_not_found' });
    return showModel(model);
  }
}
