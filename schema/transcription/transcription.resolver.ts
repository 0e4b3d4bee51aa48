import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import { invalid } from '../../src/contract/errors.js';
import { checkJson, checkShape } from '../../src/http/index.js';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { generate } from '../generation.js';
import { CreateTranscriptionInput } from './transcription.input.js';
import { TranscriptionGeneration } from './transcription.type.js';

/** Fields of a form are texts; these fields need another type. */
const BOOLEANS = ['diarization', 'translation'];

/** Converts a form to the JSON body, with the bytes of the uploaded file. */
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

/** Parses the field as a member of a body, to apply the limits of JSON bodies; escape sequences reveal characters that the text itself hides. */
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
