import { Field, InputType, ObjectType } from 'type-graphql';
import { ChatCompletionInput } from '../chat/chat.input.js';
import { CreateEmbeddingsInput } from '../embedding/embedding.input.js';
import { GenerateImageInput } from '../image/image.input.js';
import { GenerateMusicInput } from '../music/music.input.js';
import { CreateSpeechInput } from '../speech/speech.input.js';
import { CreateTranscriptionInput } from '../transcription/transcription.input.js';
import { GenerateVideoInput } from '../video/video.input.js';
import { BucketAmount } from '../usage/usage-record.type.js';

@InputType({ description: 'Exactly one of the calls whose price is asked.' })
export class EstimateInput {
  @Field(() => ChatCompletionInput, { nullable: true })
  chat?: ChatCompletionInput | null;

  @Field(() => CreateEmbeddingsInput, { nullable: true })
  embeddings?: CreateEmbeddingsInput | null;

  @Field(() => GenerateImageInput, { nullable: true })
  image?: GenerateImageInput | null;

  @Field(() => CreateSpeechInput, { nullable: true })
  speech?: CreateSpeechInput | null;

  @Field(() => GenerateMusicInput, { nullable: true })
  music?: GenerateMusicInput | null;

  @Field(() => CreateTranscriptionInput, { nullable: true })
  transcription?: CreateTranscriptionInput | null;

  @Field(() => GenerateVideoInput, { nullable: true })
  video?: GenerateVideoInput | null;
}

@ObjectType('Estimate', { simpleResolvers: true, description: 'What a call would reserve.' })
export class EstimateType {
  @Field(() => String)
  model!: string;

  @Field(() => String)
  modelTier!: string;

  @Field(() => [BucketAmount])
  amounts!: BucketAmount[];
}
