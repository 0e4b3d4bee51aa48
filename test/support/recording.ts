import { createServer, request as forward } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJson } from '../../src/text/stored-json.js';

type Fields = Record<string, unknown>;

/** A client's unchanged request. */
export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: unknown;
}

/** The requests of a client in one session, in order. */
export interface RecordedSession {
  client: string;
  requests: RecordedRequest[];
}

export interface Recorder {
  origin: string;
  requests: RecordedRequest[];
  /** The statuses of requests whose path begins with a prefix. */
  statusesOf(path: string): Set<number>;
  close(): Promise<void>;
}

/** A proxy in front of a server that forwards everything and records the requests. */
export async function startRecorder(target: string): Promise<Recorder> {
  const requests: RecordedRequest[] = [];
  const statuses = new Map<RecordedRequest, number>();
  const { hostname, port } = new URL(target);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = 'GET', url: path = '/', headers } = request;
      const sent = Buffer.concat(parts);
      const text = sent.toString();
      const body: unknown = /^\s*[[{]/.test(text) ? JSON.parse(text) : text;
      const recorded = { method, path, headers: headersOf(headers), body };
      requests.push(recorded);
      const onward = forward({ hostname, port, method, path, headers }, (answer) => {
        statuses.set(recorded, answer.statusCode ?? 0);
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      onward.end(sent);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    statusesOf: (start) =>
      new Set(requests.filter(({ path }) => path.startsWith(start)).map((one) => statuses.get(one) ?? 0)),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const headersOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Headers of the connection, and secret headers. */
const NOT_KEPT = /^(?:host|connection|content-length|authorization|x-api-key|api-key|accept-encoding)$/;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const HASH = /\b[0-9a-f]{32,64}\b/g;
const LONGEST = 200;

/**
 * A session without private or copyrighted content: keys, ids of installations and paths are removed, and prose is cut to its first words.
 * Its structure, names and types stay.
 * @param words replacements, by the path or name of this machine
 */
export function sanitised(session: RecordedSession, words: Record<string, string>): RecordedSession {
  const ids = new Map<string, string>();
  const idFor = (found: string): string => {
    const known = ids.get(found) ?? `00000000-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`;
    ids.set(found, known);
    return known;
  };
  const clean = (text: string): string => {
    let plain = text;
    for (const [word, other] of Object.entries(words)) plain = plain.replaceAll(word, other);
    plain = plain.replace(UUID, idFor).replace(HASH, '0'.repeat(32));
    return plain;
  };
  const prose = (text: string): string =>
    text.length <= LONGEST ? text : `${text.slice(0, 60).trimEnd()} … (${text.length} characters)`;
  /** A text that is JSON itself stays JSON. */
  const inText = (text: string): string =>
    text.startsWith('{"') && isJson(text) ? JSON.stringify(walk(JSON.parse(text))) : prose(clean(text));
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value as Fields).map(([name, inner]) => [clean(name), walk(inner)]),
    );
  };
  return {
    client: session.client,
    requests: session.requests.map(({ method, path, headers, body }) => ({
      method,
      path: clean(path),
      headers: Object.fromEntries(
        Object.entries(headers)
          .filter(([name]) => !NOT_KEPT.test(name))
          .map(([name, value]) => [name, inText(value)]),
      ),
      body: walk(body),
    })),
  };
}
