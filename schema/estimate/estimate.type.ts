import { Field, InputType, ObjectType } from 'type-graphql';
import { ChatCompletionInput } from '../chat/chat.input.js';
import { CreateEmbeddingsInput } from '../embedding/embedding.input.js';
import { GenerateImageInput } from '../image/image.input.js';
import { EditImageInput } from '../image-edit/image-edit.input.js';
import { GenerateMusicInput } from '../music/music.input.js';
import { RerankInput } from '../rerank/rerank.input.js';
import { CreateSpeechInput } from '../speech/speech.input.js';
import { CreateTranscriptionInput } from '../transcription/transcription.input.js';
import { GenerateVideoInput } from '../video/video.input.js';
import { BucketAmount } from '../usage/usage-record.type.js';
import { ModelTier } from '../enums.js';

@InputType({ description: 'The call whose price is requested. Set exactly one field.' })
export class EstimateInput {
  @Field(() => ChatCompletionInput, {
    nullable: true,
    description: 'A chat completion: its prompt and `maxTokens`.',
  })
  chat?: ChatCompletionInput | null;

  @Field(() => CreateEmbeddingsInput, { nullable: true, description: 'Embeddings.' })
  embeddings?: CreateEmbeddingsInput | null;

  @Field(() => GenerateImageInput, { nullable: true, description: 'Images.' })
  image?: GenerateImageInput | null;

  @Field(() => EditImageInput, { nullable: true, description: 'An image edit. Its images are not fetched.' })
  imageEdit?: EditImageInput | null;

  @Field(() => RerankInput, { nullable: true, description: 'A ranking.' })
  rerank?: RerankInput | null;

  @Field(() => CreateSpeechInput, { nullable: true, description: 'Speech.' })
  speech?: CreateSpeechInput | null;

  @Field(() => GenerateMusicInput, { nullable: true, description: 'Music.' })
  music?: GenerateMusicInput | null;

  @Field(() => CreateTranscriptionInput, {
    nullable: true,
    description: 'A transcription. Its file is fetched to measure its length.',
  })
  transcription?: CreateTranscriptionInput | null;

  @Field(() => GenerateVideoInput, { nullable: true, description: 'A video.' })
  video?: GenerateVideoInput | null;
}

@ObjectType('Estimate', { simpleResolvers: true, description: 'The amounts that a call would reserve.' })
export class EstimateType {
  @Field(() => String, { description: 'The id of the model that would be called.' })
  model!: string;

  @Field(() => ModelTier, { description: 'Its tier.' })
  modelTier!: string;

  @Field(() => [BucketAmount], {
    description:
      "The amount that the call would reserve in each bucket. The call often uses less. Text that a chat's `webSearch` finds is charged in addition.",
  })
  amounts!: BucketAmount[];
}
