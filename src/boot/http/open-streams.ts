import type { ServerResponse } from 'node:http';
import type { Authenticator, Revocable } from '../../access/access.types.js';
import { SlotList } from '../../collections/slot-list.js';

/**
 * After a key is revoked, an answer that is still pending may become a stream (a chat waits for its first chunk). This is the interval at which
 * that is checked.
 */
const LOOK_MS = 400;

interface Watched {
  responses: SlotList<ServerResponse>;
  forget(): void;
}

/** Ends the event streams of a key or a client token when it becomes invalid (decisions 5). Answers that are not streams may finish. */
export function createStreamGuard(
  authenticator: Pick<Authenticator, 'onInvalidated'>,
): (caller: Revocable, response: ServerResponse) => void {
  const byId = new Map<string, Watched>();
  const watch = (caller: Revocable, id: string): Watched => {
    const responses = new SlotList<ServerResponse>();
    const end = (): void => {
      for (const response of [...responses]) if (isStream(response)) response.destroy();
      if (responses.size > 0) setTimeout(end, LOOK_MS).unref();
    };
    const watched = { responses, forget: authenticator.onInvalidated(caller, end) };
    byId.set(id, watched);
    return watched;
  };
  return (caller, response) => {
    const id = caller.token?.id ?? caller.keyId;
    const watched = byId.get(id) ?? watch(caller, id);
    const place = watched.responses.insert(response);
    response.on('close', () => {
      watched.responses.remove(place);
      if (watched.responses.size > 0) return;
      watched.forget();
      if (byId.get(id) === watched) byId.delete(id);
    });
  };
}

function isStream(response: ServerResponse): boolean {
  return response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');
}
