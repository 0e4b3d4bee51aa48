import { Field, Int, ObjectType } from 'type-graphql';

@ObjectType({ simpleResolvers: true, description: 'A part of the text of an export.' })
export class UsageExportPiece {
  @Field(() => Int, { description: 'Its number, from 1.' })
  sequence!: number;

  @Field(() => String, { description: 'Whole lines.' })
  text!: string;
}
