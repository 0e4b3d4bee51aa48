/** The entered values: texts unchanged, files as `data:` URLs, check boxes as `on` or empty. */
export type Values = Readonly<Record<string, string>>;

interface Common {
  /** The name of the argument in the GraphQL input. */
  name: string;
  label: string;
  hint?: string;
  isRequired?: boolean;
  /** Whether the field is shown, depending on the other values. Default: always. */
  when?(values: Values): boolean;
}

/** A field of a form in the playground. */
export type Field = Common &
  (
    | { kind: 'text'; rows?: number; placeholder?: string }
    | { kind: 'number'; min: number; max: number; step?: number; placeholder?: string }
    | { kind: 'choice'; choices: readonly string[]; usual?: string }
    | { kind: 'check' }
    | { kind: 'file'; accept: string; canRecord?: boolean }
    /** A mask that is drawn on the picture of the field `of`. */
    | { kind: 'mask'; of: string }
    /** A list with one item on each line. */
    | { kind: 'lines'; rows?: number; placeholder?: string }
    | { kind: 'json'; rows?: number; placeholder?: string }
  );

/** The fields that are shown for these values. */
export const shownFields = (fields: readonly Field[], values: Values): Field[] =>
  fields.filter(({ when }) => when === undefined || when(values));

/** Converts an entered text to the value of the input. @throws SyntaxError if it is not valid JSON */
function valueOf(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'number':
      return Number(text);
    case 'check':
      return true;
    case 'lines':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    case 'json':
      return JSON.parse(text) as unknown;
    default:
      return text;
  }
}

/** The input of the call. Empty fields are left out. @throws SyntaxError if a value is not valid JSON */
export function inputOf(fields: readonly Field[], values: Values): Record<string, unknown> {
  return Object.fromEntries(
    shownFields(fields, values).flatMap((field) => {
      const text = values[field.name] ?? '';
      return text.trim() === '' ? [] : [[field.name, valueOf(field, text)]];
    }),
  );
}

/** Whether all required fields have a value. */
export const isComplete = (fields: readonly Field[], values: Values): boolean =>
  shownFields(fields, values).every(
    ({ name, isRequired }) => isRequired !== true || (values[name] ?? '').trim() !== '',
  );
