import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { generate } from '../generation.js';
import { Metered } from '../guard.js';
import { EditImageInput } from './image-edit.input.js';
import { ImageEdit } from './image-edit.type.js';

@Resolver()
export class ImageEditResolver {
  @Metered('image_edit')
  @Mutation(() => ImageEdit, { description: 'Edits an image; with `async` it answers at once with the job.' })
  editImage(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => EditImageInput, { description: 'The image and the operation.' })
    input: EditImageInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description: 'Answer with the job at once, `data` and `usage` null, instead of waiting for the result.',
    })
    isAsync: boolean | null,
  ): Promise<ImageEdit> {
    return generate<ImageEdit>('image_edit', context, { input, async: isAsync ?? false });
  }
}
