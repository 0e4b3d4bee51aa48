import { Extensions, Field, InputType } from 'type-graphql';
import { TimestampGranularity, TranscriptionFormat } from '../enums.js';
import { modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({ description: 'A recording to write down.' })
export class CreateTranscriptionInput {
  @Extensions({ jsonSchema: nonBlank() })
  @Field(() => String, {
    description: 'URL, data: URL or base64, up to 25 MB: MP3, WAV, M4A, FLAC, OGG or WebM.',
  })
  file!: string;

  @Extensions({ jsonSchema: modelId('sandbox/stt-fast') })
  @Field(() => String, {
    nullable: true,
    description: 'Id of a transcription model; default: see `models(type: stt)`.',
  })
  model?: string | null;

  @Extensions({
    jsonSchema: {
      default: 'auto',
      maxLength: 40,
      pattern: '^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}|auto)?$',
    },
  })
  @Field(() => String, { nullable: true, description: 'ISO code of what is spoken; default auto.' })
  language?: string | null;

  @Extensions({ jsonSchema: { default: 'json' } })
  @Field(() => TranscriptionFormat, { nullable: true, description: 'Default json.' })
  responseFormat?: string | null;

  @Extensions({ jsonSchema: { default: ['segment'], minItems: 1 } })
  @Field(() => [TimestampGranularity], { nullable: true, description: 'Default [segment].' })
  timestampGranularities?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Tell speakers apart. Default false.' })
  diarization?: boolean | null;

  @Field(() => Boolean, { nullable: true, description: 'Give English text. Default false.' })
  translation?: boolean | null;

  @Field(() => Json, { nullable: true, description: "The model's own extras." })
  modelInputs?: Record<string, unknown> | null;
}
