import type { Principal } from '../src/access/access.types.js';
import { ApiError, invalid, notFound } from '../src/contract/errors.js';
import type {
  KeyedChunk,
  ResponseEvents,
  ResponsePosition,
  ResponseService,
  StoredEvent,
} from '../src/generation/index.js';
import { EventHub, type EventCarriers } from './event-hub.js';

export interface ResponseHubDependencies extends EventCarriers {
  responses: Pick<ResponseService, 'getMany' | 'events' | 'positions'>;
}

/** Live events of responses for one process's subscribers. */
export interface ResponseHub
  extends ResponseEvents, Pick<EventHub<never, never, StoredEvent>, 'size' | 'drain' | 'close'> {}

/** The beginning of an event's JSON. */
const LAST = /^\{"type":"response\.(?:completed|incomplete|failed|cancelled)"/;

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createResponseHub({
  responses,
  ...carriers
}: ResponseHubDependencies): Promise<ResponseHub> {
  const hub = new EventHub<Principal, ResponsePosition, StoredEvent>(
    {
      noun: 'Response',
      hint: 'response_event',
      topic: 'responses',
      getMany: ({ orgId }, ids) => responses.getMany(orgId, ids),
      events: ({ id, orgId }, after, limit) => responses.events(orgId, id, after, limit),
      positions: (ids) => responses.positions(ids),
      isFinished: ({ status }) => status !== 'queued' && status !== 'in_progress',
      isLast: ({ text }) => LAST.test(text),
    },
    carriers,
  );
  await hub.start();
  const known = async ({ orgId }: Principal, id: string): Promise<ResponsePosition> => {
    const [found] = await responses.getMany(orgId, [id]);
    if (found === undefined) throw notFound(`Response with id '${id}' not found`);
    return found;
  };
  return {
    get size() {
      return hub.size;
    },
    async follow({ principal, id, after }) {
      const { kind, sequence } = await known(principal, id);
      if (kind === 'chat' || sequence === 0) throw invalid('The events of this response were not kept', 'id');
      return mapped(await hub.follow(principal, { id, after }), ({ text }) => text);
    },
    async followChat({ principal, id, after }) {
      await known(principal, id);
      return mapped(await hub.follow(principal, { id, after }), chunkOf);
    },
    drain: () => hub.drain(),
    close: () => hub.close(),
  };
}

/** Null for the end of its response, which is not a chunk. @throws ApiError if the chat failed */
function chunkOf({ sequence, text: chunk }: StoredEvent): KeyedChunk | null {
  if (!LAST.test(chunk)) return { sequence, chunk };
  const { response } = JSON.parse(chunk) as {
    response: { status: string; error: { message: string } | null };
  };
  if (response.status === 'cancelled') throw new ApiError('server_error', 'The answer was cancelled');
  if (response.error !== null) throw new ApiError('server_error', response.error.message);
  return null;
}

/** Maps events to their shown form; the end of the stream stays the same. @param shownAs returns null to end it */
function mapped<Shown>(
  events: AsyncIterableIterator<StoredEvent>,
  shownAs: (event: StoredEvent) => Shown | null,
): AsyncIterableIterator<Shown> & { resumable: true } {
  const shown = ({ done, value }: IteratorResult<StoredEvent>): IteratorResult<Shown> => {
    const event = done ? null : shownAs(value);
    return event === null ? { done: true, value: undefined } : { done: false, value: event };
  };
  return {
    resumable: true,
    next: () => events.next().then(shown),
    return: async () => {
      await events.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
