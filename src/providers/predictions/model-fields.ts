/** What an upstream's field may hold; null: the field is left out, as the model does that by itself. */
export type FieldValue = string | number | boolean | null;

/**
 * One parameter of ours as a model takes it: the field's name where it takes any value; the values it knows, each with its own word for
 * it; or the numbers between which it takes any.
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

/** How a model takes our parameters, as data: from its entry in PROVIDERS_FILE, or known here. A parameter without a field is refused. */
export interface ModelFields {
  /** Our parameter → its field. Names that are none of ours stand in `model_inputs` of music and edits. */
  inputs: Readonly<Record<string, ModelField>>;
  /** Fields that every call carries. */
  fixed?: Readonly<Record<string, FieldValue>> | undefined;
  modes?: Readonly<Record<string, string | ModelMode>> | undefined;
  /** Modes, or operations of edits (contract 4.3), that it does; absent: all that its fields allow. */
  tasks?: readonly string[] | undefined;
}

/** Upstream name of a model → how it takes our parameters. */
export type KnownFields = Readonly<Record<string, ModelFields>>;

const nameOf = (field: ModelField): string => (typeof field === 'string' ? field : field.name);

/** The values that a field knows, as written in a request; null where it takes any. */
export function knownValues(field: ModelField | undefined): string[] | null {
  return typeof field === 'object' && 'values' in field ? Object.keys(field.values) : null;
}

/** The endpoint of a mode, and what it does not take. */
export function modeOf(fields: ModelFields, modelId: string, mode: string): Required<ModelMode> {
  const other = fields.modes?.[mode];
  if (other === undefined) return { upstreamId: modelId, without: [] };
  return typeof other === 'string'
    ? { upstreamId: other, without: [] }
    : { upstreamId: other.upstreamId, without: other.without ?? [] };
}

/**
 * A call's values as the model's input. Values are what was checked against the same fields before: one that a field does not know is
 * left to the upstream.
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
