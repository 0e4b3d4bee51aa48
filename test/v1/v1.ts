import type { Dispatcher } from 'undici';
import type { TestServer } from '../support/server.js';

export interface V1Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** A request at one of the addresses; a body that is no text or bytes goes as JSON. */
export type V1 = (
  method: Dispatcher.HttpMethod,
  path: string,
  options?: { headers?: Record<string, string>; body?: object | string | Buffer },
) => Promise<V1Answer>;

export function at(server: Pick<TestServer, 'raw'>, address: string): V1 {
  return async (method, path, { headers = {}, body } = {}) => {
    const isPlain = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await server.raw(address + path, {
      method,
      headers: body !== undefined && !isPlain ? { 'content-type': 'application/json', ...headers } : headers,
      ...(body === undefined ? {} : { body: isPlain ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return {
      status: response.statusCode,
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: parsed(text),
    };
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
