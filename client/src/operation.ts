/** A document with the types of its variables and its answer. */
export interface Operation<Variables, Answer> {
  /** The name of its root field. */
  readonly name: string;
  /** The document. */
  readonly text: string;
  /** Never set at run time: it carries the types. */
  readonly types?: (variables: Variables) => Answer;
}

export const operation = <Variables, Answer>(name: string, text: string): Operation<Variables, Answer> => ({
  name,
  text,
});
