import { AsyncLocalStorage } from 'node:async_hooks';
import type { OutboundFetch } from './outbound-fetch.js';

type OnBytes = (bytes: Uint8Array) => void;

/** The `fetch` of a package whose answers can be taken as they come, although the package reads them whole. */
export interface LiveFetch {
  fetch: OutboundFetch['fetch'];
  /** Runs a package's call; `onBytes` gets the bytes of its answers with a 2xx status. */
  during<T>(onBytes: OnBytes | undefined, work: () => PromiseLike<T>): PromiseLike<T>;
}

/** @param pathOf the path of such a call, where a provider streams at another than its package asks */
export function createLiveFetch(
  fetch: OutboundFetch['fetch'],
  pathOf: (path: string) => string = (path) => path,
): LiveFetch {
  const takers = new AsyncLocalStorage<OnBytes>();
  return {
    during: (onBytes, work) => (onBytes === undefined ? work() : takers.run(onBytes, work)),
    async fetch(input, init) {
      const onBytes = takers.getStore();
      if (onBytes === undefined) return await fetch(input, init);
      const url = new URL(input instanceof Request ? input.url : input);
      url.pathname = pathOf(url.pathname);
      const answer = await fetch(url, init);
      const { body, ok, status, statusText, headers } = answer;
      if (!ok || body === null) return answer;
      const taken = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          onBytes(chunk);
          controller.enqueue(chunk);
        },
      });
      return new Response(body.pipeThrough(taken), { status, statusText, headers: [...headers] });
    },
  };
}
