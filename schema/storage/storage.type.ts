import { Field, Float, ObjectType } from 'type-graphql';

@ObjectType('PenstockStorage', {
  simpleResolvers: true,
  description: 'The storage that an organisation uses, and its limit.',
})
export class StorageReport {
  @Field(() => Float, { description: 'The bytes of all files and stored answers.' })
  usedBytes!: number;

  @Field(() => Float, {
    description: "The plan's limit in bytes; -1 is unlimited. A call that needs more fails with status 402.",
  })
  limitBytes!: number;

  @Field(() => Float, {
    description: 'The number of files: inputs, results, attachments and knowledge files.',
  })
  files!: number;

  @Field(() => Float, { description: 'Their bytes.' })
  fileBytes!: number;

  @Field(() => Float, {
    description:
      'The number of stored responses, and of answers that are stored for an Idempotency-Key, for 24 hours.',
  })
  answers!: number;

  @Field(() => Float, { description: 'Their bytes.' })
  answerBytes!: number;
}
