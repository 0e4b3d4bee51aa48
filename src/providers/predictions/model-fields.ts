/** The value of an upstream's field; null: the field is left out, because it is the model's default. */
export type FieldValue = string | number | boolean | null;

/**
 * How a model takes one of our parameters: the field's name if it takes any value; the supported values with the model's own value for each; or a
 * range of numbers.
 */
export type ModelField =
  | string
  | { name: string; values: Readonly<Record<string, FieldValue>> }
  | { name: string; min: number; max: number };

/** Another endpoint of the model for one mode (contract 4.4, 4.5). */
export interface ModelMode {
  upstreamId: string;
  /** Parameters that this endpoint does not take. */
  without?: readonly string[] | undefined;
}

/**
 * How a model takes our parameters, as data: from its entry in PROVIDERS_FILE or from the provider's definition. A parameter without a field is
 * refused.
 */
export interface ModelFields {
  /** Our parameter → its field. Other names are accepted in `model_inputs` of music and edits. */
  inputs: Readonly<Record<string, ModelField>>;
  /** Fields of every call. */
  fixed?: Readonly<Record<string, FieldValue>> | undefined;
  modes?: Readonly<Record<string, string | ModelMode>> | undefined;
  /** Supported modes, or operations of edits (contract 4.3); absent: all that its fields allow. */
  tasks?: readonly string[] | undefined;
}

/** Upstream name of a model → how it takes our parameters. */
export type KnownFields = Readonly<Record<string, ModelFields>>;

const nameOf = (field: ModelField): string => (typeof field === 'string' ? field : field.name);

/** The values that a field supports, as written in a request; null if it takes any. */
export function knownValues(field: ModelField | undefined): string[] | null {
  return typeof field === 'object' && 'values' in field ? Object.keys(field.values) : null;
}

/** The endpoint of a mode, and the parameters that it does not support. */
export function modeOf(fields: ModelFields, modelId: string, mode: string): Required<ModelMode> {
  const other = fields.modes?.[mode];
  if (other === undefined) return { upstreamId: modelId, without: [] };
  return typeof other === 'string'
    ? { upstreamId: other, without: [] }
    : { upstreamId: other.upstreamId, without: other.without ?? [] };
}

/**
 * Converts a call's values to the model's input. The values were checked against the same fields before; a value that a field does not list is
 * passed on unchanged.
 */
export function inputOf(
  fields: ModelFields,
  values: Readonly<Record<string, FieldValue | undefined>>,
  without: readonly string[] = [],
): Record<string, FieldValue> {
  const input: Record<string, FieldValue> = { ...fields.fixed };
  for (const [parameter, value] of Object.entries(values)) {
    const field = fields.inputs[parameter];
    if (field === undefined || value === undefined || value === null || without.includes(parameter)) continue;
    const written =
      typeof field === 'object' && 'values' in field && Object.hasOwn(field.values, String(value))
        ? field.values[String(value)]
        : value;
    if (written !== null && written !== undefined) input[nameOf(field)] = written;
  }
  return input;
}
