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

/** A document's root fields that are done, as a retry takes them up. */
export interface DoneFields {
  data: Data;
  errors: GivenError[];
}

export interface SerialMutation {
  document: DocumentNode;
  operation: OperationDefinitionNode;
  /** The document as it was sent. */
  query: string;
  /** Of an earlier request with the same key; null: none. */
  done: DoneFields | null;
  /** Called after each field but the last, which the whole answer follows. */
  note(part: AnswerPart): Promise<void>;
  timeSlicer: TimeSlicer;
  /** Executes a document that has one of the operation's root fields: its result is wanted; or, not `structured`, the whole of it. */
  execute(query: string, structured?: boolean): Promise<ApolloAnswer>;
  /** What callers see of a fault outside of every field. */
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

/** The root fields in the order of their execution, those of fragments included. */
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

/** The document with one root field of the operation. Fragments of root fields are written out in it. */
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

/** Errors with their places in the document as it was sent. */
function placed(errors: readonly GivenError[], work: SerialMutation): GivenError[] {
  const fields = fieldsOf(work);
  return errors.map(({ locations: _, ...error }) => {
    const loc = fields.find((field) => nameOf(field) === error.path?.[0])?.loc;
    return loc === undefined ? error : { ...error, locations: [getLocation(loc.source, loc.start)] };
  });
}

/**
 * A mutation's root fields one after the other, as they always are, but each by itself, so that what the first ones did is known where a
 * later one fails, or its process dies: a retry with the same Idempotency-Key does not do them again. An answer that fails carries them as
 * `part`.
 */
export async function executeSerially(work: SerialMutation): Promise<HttpAnswer> {
  const done: DoneFields = { data: { ...work.done?.data }, errors: [...(work.done?.errors ?? [])] };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  let last: ApolloAnswer = { status: 200, headers, body: '', errorStatuses: [], unfinishedJobs: [] };
  const errorStatuses: number[] = [];
  const names = rootNames(work);
  /** What is null because it was refused or broke: a retry does it again. */
  const failed: DoneFields = { data: {}, errors: [] };
  /** Without the latest field. */
  let before: DoneFields = { ...done };
  // What a field answered may be such that no JSON can be written of it: then it failed, and what came before it stays done.
  const unwritable = async (fault: unknown): Promise<HttpAnswer> => {
    const body = JSON.stringify({ errors: [...before.errors, work.presentFault(fault)] });
    const broken = { ...last, status: 500, body, errorStatuses: [...errorStatuses, 500] };
    return await answered(work, { done: before, last: broken });
  };
  for (const name of names.filter((one) => !Object.hasOwn(done.data, one))) {
    last = await work.execute(withOnly(name, work), true);
    errorStatuses.push(...(last.errorStatuses ?? []));
    // What failed outside of every field is short, and was written.
    const { data, errors = [] } = last.result ?? (JSON.parse(String(last.body)) as GraphqlResult);
    // Nothing was executed (its variables are faulty), and nothing of the whole would be: its own answer says where. After a 500 something may be.
    if (data === undefined && last.status < 500) return await work.execute(work.query);
    const told = placed(errors, work);
    if (data == null) {
      const body = JSON.stringify({ errors: [...done.errors, ...told], data });
      return await answered(work, { done, last: { ...last, body, errorStatuses } });
    }
    if (data[name] == null && told.length > 0) {
      failed.data = { ...failed.data, ...data };
      failed.errors.push(...told);
      continue;
    }
    before = { ...done, errors: [...done.errors] };
    // Not assigned to: a field may be called `__proto__`.
    done.data = { ...done.data, ...data };
    done.errors.push(...told);
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
  const told = { ...(errors.length === 0 ? {} : { errors }), data };
  try {
    const body = await writeJson(told, work.timeSlicer);
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

/** Longer parts are kept nowhere (decisions 6). */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** Null where it is too long to be kept. */
async function doneAs(
  { timeSlicer }: SerialMutation,
  done: DoneFields,
  { unfinishedJobs }: ApolloAnswer,
): Promise<AnswerPart | null> {
  const body = await writeJsonUpTo(done, { timeSlicer, maxBytes: MAX_PART_BYTES });
  return body && { body, headers: {}, jobs: unfinishedJobs };
}
