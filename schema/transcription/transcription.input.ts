import { Extensions, Field, InputType } from 'type-graphql';
import { TimestampGranularity, TranscriptionFormat } from '../enums.js';
import { modelId, nonBlank } from '../json-schemas.js';
import { Json } from '../scalars.js';

@InputType({ description: 'A recording to transcribe.' })
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
  @Field(() => String, { nullable: true, description: 'ISO code of the spoken language; default auto.' })
  language?: string | null;

  @Extensions({ jsonSchema: { default: 'json' } })
  @Field(() => TranscriptionFormat, { nullable: true, description: 'Default json.' })
  responseFormat?: string | null;

  @Extensions({ jsonSchema: { default: ['segment'], minItems: 1 } })
  @Field(() => [TimestampGranularity], { nullable: true, description: 'Default [segment].' })
  timestampGranularities?: string[] | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether to distinguish the speakers. Default false.',
  })
  diarization?: boolean | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether to translate into English. Default false.' })
  translation?: boolean | null;

  @Extensions({ jsonSchema: { type: 'object' } })
  @Field(() => Json, { nullable: true, description: 'Further parameters of the model.' })
  modelInputs?: Record<string, unknown> | null;
}
