import type { Principal } from '../src/access/access.types.js';
import { invalid, notFound } from '../src/contract/errors.js';
import type {
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

/** How an event's text begins. */
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
  return {
    get size() {
      return hub.size;
    },
    async follow({ principal, id, after }) {
      const [found] = await responses.getMany(principal.orgId, [id]);
      if (found === undefined) throw notFound(`Response with id '${id}' not found`);
      if (found.sequence === 0)
        throw invalid('Only a response that was made in the background has events', 'id');
      const query = { id, ...(after === undefined ? {} : { after }) };
      return texts(await hub.follow(principal, query));
    },
    drain: () => hub.drain(),
    close: () => hub.close(),
  };
}

/** The texts of events, under the same ending. */
function texts(
  events: AsyncIterableIterator<StoredEvent>,
): AsyncIterableIterator<string> & { resumable: true } {
  const textOf = ({ done, value }: IteratorResult<StoredEvent>): IteratorResult<string> =>
    done ? { done: true, value: undefined } : { done: false, value: value.text };
  return {
    resumable: true,
    next: () => events.next().then(textOf),
    return: async () => {
      await events.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
