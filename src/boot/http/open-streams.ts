import type { ServerResponse } from 'node:http';
import type { Authenticator } from '../../access/access.types.js';
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

/** Ends the event streams of a key when the key becomes invalid (decisions 5). Answers that are not streams may finish. */
export function createStreamGuard(
  authenticator: Pick<Authenticator, 'onInvalidated'>,
): (keyId: string, response: ServerResponse) => void {
  const byKey = new Map<string, Watched>();
  const watch = (keyId: string): Watched => {
    const responses = new SlotList<ServerResponse>();
    const end = (): void => {
      for (const response of [...responses]) if (isStream(response)) response.destroy();
      if (responses.size > 0) setTimeout(end, LOOK_MS).unref();
    };
    const watched = { responses, forget: authenticator.onInvalidated(keyId, end) };
    byKey.set(keyId, watched);
    return watched;
  };
  return (keyId, response) => {
    const watched = byKey.get(keyId) ?? watch(keyId);
    const place = watched.responses.insert(response);
    response.on('close', () => {
      watched.responses.remove(place);
      if (watched.responses.size > 0) return;
      watched.forget();
      if (byKey.get(keyId) === watched) byKey.delete(keyId);
    });
  };
}

function isStream(response: ServerResponse): boolean {
  return response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');
}
