import { fetch } from 'undici';
import { createOperatorAgent } from './guarded-agent.js';

/** `fetch` for libraries that take one, to addresses in the operator's own configuration (MCP servers). */
export interface OperatorFetch {
  fetch(url: string | URL, init?: object): Promise<Response>;
  /** Ends its connections. */
  close(): Promise<void>;
}

/** No deny list, and no limit between parts of a body: an event stream may be silent for as long as it likes. */
export function createOperatorFetch(): OperatorFetch {
  const agent = createOperatorAgent({ bodyTimeoutMs: 0 });
  return {
    fetch: async (url, init) => (await fetch(url, { ...init, dispatcher: agent })) as unknown as Response,
    close: () => agent.destroy(),
  };
}
