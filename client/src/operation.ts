/** A document with the types of its variables and its answer. */
export interface Operation<Variables, Answer> {
  /** Of its root field. */
  readonly name: string;
  readonly text: string;
  /** Never there: it carries the types. */
  readonly types?: (variables: Variables) => Answer;
}

export const operation = <Variables, Answer>(name: string, text: string): Operation<Variables, Answer> => ({
  name,
  text,
});
