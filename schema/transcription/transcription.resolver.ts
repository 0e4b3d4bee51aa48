import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import { invalid } from '../../src/contract/errors.js';
import { checkJson, checkShape } from '../../src/http/index.js';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { CreateTranscriptionInput } from './transcription.input.js';
import { TranscriptionGeneration } from './transcription.type.js';

/** Fields of a form are texts; these stand for something else. */
const BOOLEANS = ['diarization', 'translation'];

/** A form as the JSON body that it stands for, the uploaded file as its bytes. */
function bodyOfForm(fields: Record<string, unknown>, bytes: Buffer): Record<string, unknown> {
  const body: Record<string, unknown> = { ...fields, file: bytes };
  for (const name of BOOLEANS) {
    const text = body[name];
    if (text === 'true' || text === 'false') body[name] = text === 'true';
  }
  if (typeof body['timestamp_granularities'] === 'string')
    body['timestamp_granularities'] = [body['timestamp_granularities']];
  if (typeof body['model_inputs'] === 'string') Object.assign(body, modelInputs(body['model_inputs']));
  return body;
}

/** As a member of a body, to be held to what a body is held to: escapes show what the field's text itself hides. */
function modelInputs(text: string): Record<string, unknown> {
  checkShape(Buffer.from(text));
  let member: Record<string, unknown>;
  try {
    member = { model_inputs: JSON.parse(text) };
  } catch {
    throw invalid('model_inputs must be an object', 'model_inputs');
  }
  checkJson(member, text, ([field]) => field);
  return member;
}

@Resolver()
export class TranscriptionResolver {
  @Metered('stt')
  @Mutation(() => TranscriptionGeneration, {
    description: 'Transcribes a recording. With `async` it returns the job at once.',
  })
  createTranscription(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateTranscriptionInput, { description: 'The recording.' })
    input: CreateTranscriptionInput,
    @Arg('async', () => Boolean, {
      nullable: true,
      defaultValue: false,
      description:
        'Return the job at once instead of waiting for the result. `data` and `usage` are then null.',
    })
    isAsync: boolean | null,
  ): Promise<TranscriptionGeneration> {
    const { upload } = context;
    const own = upload ? { ...context, body: bodyOfForm(context.body ?? {}, upload.bytes) } : context;
    return generate<TranscriptionGeneration>('stt', own, { input, async: isAsync ?? false });
  }
}
