import { Field, InputType, ObjectType } from 'type-graphql';
import { ChatCompletionInput } from '../chat/chat.input.js';
import { CreateEmbeddingsInput } from '../embedding/embedding.input.js';
import { GenerateImageInput } from '../image/image.input.js';
import { EditImageInput } from '../image-edit/image-edit.input.js';
import { GenerateMusicInput } from '../music/music.input.js';
import { CreateSpeechInput } from '../speech/speech.input.js';
import { CreateTranscriptionInput } from '../transcription/transcription.input.js';
import { GenerateVideoInput } from '../video/video.input.js';
import { BucketAmount } from '../usage/usage-record.type.js';

@InputType({ description: 'Exactly one of the calls whose price is asked.' })
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

  @Field(() => EditImageInput, { nullable: true, description: 'An edit; its pictures are not fetched.' })
  imageEdit?: EditImageInput | null;

  @Field(() => CreateSpeechInput, { nullable: true, description: 'Speech.' })
  speech?: CreateSpeechInput | null;

  @Field(() => GenerateMusicInput, { nullable: true, description: 'Music.' })
  music?: GenerateMusicInput | null;

  @Field(() => CreateTranscriptionInput, {
    nullable: true,
    description: 'A transcription; its file is fetched to know its seconds.',
  })
  transcription?: CreateTranscriptionInput | null;

  @Field(() => GenerateVideoInput, { nullable: true, description: 'A video.' })
  video?: GenerateVideoInput | null;
}

@ObjectType('Estimate', { simpleResolvers: true, description: 'What a call would reserve.' })
export class EstimateType {
  @Field(() => String, { description: 'Id of the model that would be called.' })
  model!: string;

  @Field(() => String, { description: 'Its tier.' })
  modelTier!: string;

  @Field(() => [BucketAmount], {
    description:
      "What would be reserved of each bucket; what a call really uses is often less. The text that a chat's `webSearch` finds comes on top.",
  })
  amounts!: BucketAmount[];
}
