import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { generate } from '../generation.js';
import { Metered } from '../guard.js';
import { EditImageInput } from './image-edit.input.js';
import { ImageEdit } from './image-edit.type.js';

@Resolver()
export class ImageEditResolver {
  @Metered('image_edit')
  @Mutation(() => ImageEdit, { description: 'Edits an image. With `async` it returns the job at once.' })
  editImage(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => EditImageInput, { description: 'The image and the operation.' })
    input: EditImageInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<ImageEdit> {
    return generate<ImageEdit>('image_edit', context, { input, async: isAsync ?? false });
  }
}
