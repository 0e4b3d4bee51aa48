import { getLocation, Kind, print } from 'graphql';
import type {
  DocumentNode,
  FieldNode,
  GraphQLFormattedError,
  OperationDefinitionNode,
  SelectionNode,
} from 'graphql';
import type { AnswerPart, HttpAnswer } from '../../src/http/index.js';
import type { TimeSlicer } from '../../src/collections/time-slicer.js';
import { writeJson, writeJsonUpTo } from '../../src/text/write-json.js';
import type { ApolloAnswer, GraphqlResult } from './apollo.js';

type Data = Record<string, unknown>;

interface GivenError {
  path?: readonly (string | number)[];
  locations?: unknown;
}

/** The finished root fields of a document, from which a retry continues. */
export interface DoneFields {
  data: Data;
  errors: GivenError[];
}

export interface SerialMutation {
  document: DocumentNode;
  operation: OperationDefinitionNode;
  /** The unchanged document. */
  query: string;
  /** The finished fields of an earlier request with the same key; null if there are none. */
  done: DoneFields | null;
  /** Called after each field except the last, after which the whole answer is stored. */
  note(part: AnswerPart): Promise<void>;
  timeSlicer: TimeSlicer;
  /** Executes a document with one of the operation's root fields, with its result as an object; or, without `structured`, the whole document. */
  execute(query: string, structured?: boolean): Promise<ApolloAnswer>;
  /** The callers' answer for an error outside of every field. */
  presentFault(fault: unknown): GraphQLFormattedError;
}

const nameOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;

type Fragments = ReadonlyMap<string, readonly SelectionNode[]>;

function fragmentsOf(document: DocumentNode): Fragments {
  return new Map(
    document.definitions.flatMap((item) =>
      item.kind === Kind.FRAGMENT_DEFINITION
        ? [[item.name.value, item.selectionSet.selections] as const]
        : [],
    ),
  );
}

/** The root fields in the order of their execution, including fields of fragments. */
function rootFields(selections: readonly SelectionNode[], fragments: Fragments): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.INLINE_FRAGMENT)
      return rootFields(selection.selectionSet.selections, fragments);
    return rootFields(fragments.get(selection.name.value) ?? [], fragments);
  });
}

function fieldsOf({ document, operation }: Pick<SerialMutation, 'document' | 'operation'>): FieldNode[] {
  return rootFields(operation.selectionSet.selections, fragmentsOf(document));
}

/** Names of an operation's root fields in its answer, in order. */
export function rootNames(work: Pick<SerialMutation, 'document' | 'operation'>): string[] {
  return [...new Set(fieldsOf(work).map(nameOf))];
}

/** The document with one root field of the operation. Fragments of root fields are inlined. */
function withOnly(name: string, { document, operation }: SerialMutation): string {
  const fragments = fragmentsOf(document);
  const only = (selections: readonly SelectionNode[]): SelectionNode[] =>
    selections.flatMap((selection): SelectionNode[] => {
      if (selection.kind === Kind.FIELD) return nameOf(selection) === name ? [selection] : [];
      const inner =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection.selectionSet.selections
          : (fragments.get(selection.name.value) ?? []);
      const kept = only(inner);
      if (kept.length === 0) return [];
      const selectionSet = { kind: Kind.SELECTION_SET, selections: kept } as const;
      const { directives = [] } = selection;
      return [{ kind: Kind.INLINE_FRAGMENT, directives, selectionSet }];
    });
  const selectionSet = { ...operation.selectionSet, selections: only(operation.selectionSet.selections) };
  const definitions = document.definitions.map((item) =>
    item === operation ? { ...operation, selectionSet } : item,
  );
  return print({ ...document, definitions });
}

/** Errors with their locations in the original document. */
function placed(errors: readonly GivenError[], work: SerialMutation): GivenError[] {
  const fields = fieldsOf(work);
  return errors.map(({ locations: _, ...error }) => {
    const loc = fields.find((field) => nameOf(field) === error.path?.[0])?.loc;
    return loc === undefined ? error : { ...error, locations: [getLocation(loc.source, loc.start)] };
  });
}

/**
 * Executes a mutation's root fields one after the other, each as a separate execution. So the finished fields are known if a later one
 * fails or its process dies, and a retry with the same Idempotency-Key does not repeat them. A failed answer contains them as `part`.
 */
export async function executeSerially(work: SerialMutation): Promise<HttpAnswer> {
  const done: DoneFields = { data: { ...work.done?.data }, errors: [...(work.done?.errors ?? [])] };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  let last: ApolloAnswer = { status: 200, headers, body: '', errorStatuses: [], unfinishedJobs: [] };
  const errorStatuses: number[] = [];
  const names = rootNames(work);
  /** Fields that are null because they were refused or failed; a retry executes them again. */
  const failed: DoneFields = { data: {}, errors: [] };
  /** Without the latest field. */
  let before: DoneFields = { ...done };
  // If a field's result cannot be written as JSON, the field has failed, and the fields before it stay finished.
  const unwritable = async (fault: unknown): Promise<HttpAnswer> => {
    const body = JSON.stringify({ errors: [...before.errors, work.presentFault(fault)] });
    const broken = { ...last, status: 500, body, errorStatuses: [...errorStatuses, 500] };
    return await answered(work, { done: before, last: broken });
  };
  for (const name of names.filter((one) => !Object.hasOwn(done.data, one))) {
    last = await work.execute(withOnly(name, work), true);
    errorStatuses.push(...(last.errorStatuses ?? []));
    // An error outside of every field is short, and was already written.
    const { data, errors = [] } = last.result ?? (JSON.parse(String(last.body)) as GraphqlResult);
    // Nothing was executed (its variables are invalid), and the whole document would fail in the same way; its own answer has the correct locations. After a 500 something may have been executed.
    if (data === undefined && last.status < 500) return await work.execute(work.query);
    const reported = placed(errors, work);
    if (data == null) {
      const body = JSON.stringify({ errors: [...done.errors, ...reported], data });
      return await answered(work, { done, last: { ...last, body, errorStatuses } });
    }
    if (data[name] == null && reported.length > 0) {
      failed.data = { ...failed.data, ...data };
      failed.errors.push(...reported);
      continue;
    }
    before = { ...done, errors: [...done.errors] };
    // Defined, not assigned, because a field may have the name `__proto__`.
    done.data = { ...done.data, ...data };
    done.errors.push(...reported);
    if (name === names.at(-1)) break;
    let part: AnswerPart | null;
    try {
      part = await doneAs(work, done, last);
    } catch (fault) {
      return await unwritable(fault);
    }
    if (part !== null) await work.note(part);
  }
  const all = { ...failed.data, ...done.data };
  const data = Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(all, name) ? [[name, all[name]]] : [])),
  );
  const errors = [...done.errors, ...failed.errors];
  const reported = { ...(errors.length === 0 ? {} : { errors }), data };
  try {
    const body = await writeJson(reported, work.timeSlicer);
    return await answered(work, { done, last: { ...last, body, errorStatuses } });
  } catch (fault) {
    return await unwritable(fault);
  }
}

async function answered(
  work: SerialMutation,
  { done, last: { result: _, ...last } }: { done: DoneFields; last: ApolloAnswer },
): Promise<HttpAnswer> {
  const part = Object.keys(done.data).length === 0 ? null : await doneAs(work, done, last);
  return part === null ? last : { ...last, part };
}

/** Longer parts are not stored (decisions 6). */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** Null if it is too long to be stored. */
async function doneAs(
  { timeSlicer }: SerialMutation,
  done: DoneFields,
  { unfinishedJobs }: ApolloAnswer,
): Promise<AnswerPart | null> {
  const body = await writeJsonUpTo(done, { timeSlicer, maxBytes: MAX_PART_BYTES });
  return body && { body, headers: {}, jobs: unfinishedJobs };
}
