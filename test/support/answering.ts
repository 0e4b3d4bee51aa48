import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** A fake server's handler that may fail: the connection is then cut, so the test's own client fails. */
export function answering(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
): RequestListener {
  return (request, response) => {
    handle(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  };
}
