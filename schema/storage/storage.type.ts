import { Field, Float, ObjectType } from 'type-graphql';

@ObjectType('Storage', {
  simpleResolvers: true,
  description: 'What is stored for the organisation, in bytes, and how much may be.',
})
export class StorageReport {
  @Field(() => Float, { description: 'Bytes of files and kept answers together.' })
  usedBytes!: number;

  @Field(() => Float, { description: "The plan's limit; -1 is unlimited. What needs more is 402." })
  limitBytes!: number;

  @Field(() => Float, { description: 'Inputs, results, attachments and knowledge files.' })
  files!: number;

  @Field(() => Float, { description: 'Their bytes.' })
  fileBytes!: number;

  @Field(() => Float, { description: 'Answers that are kept for an Idempotency-Key, for 24 hours.' })
  answers!: number;

  @Field(() => Float, { description: 'Their bytes.' })
  answerBytes!: number;
}
