import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import type { TestClient } from './client.js';

export interface MadeToken {
  token: string;
  client_token: { id: string; scopes: string[]; expires_at: string };
}

/** Creates a client token with an API key. */
export async function makeToken(server: TestClient, key: string, body: object): Promise<MadeToken> {
  const answer = await server.rest<MadeToken>('POST', '/client-tokens', { key, body });
  expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ token: expect.any(String) })]);
  return answer.body;
}

/** An event stream that is opened like by EventSource, with only its address. `text` grows; `ended` resolves when the stream ends in any way. */
export interface OpenedEvents {
  status: number;
  text(): string;
  ended: Promise<void>;
  close(): void;
}

export async function openEvents(url: string, headers: Record<string, string> = {}): Promise<OpenedEvents> {
  const request = httpRequest(url, { headers: { accept: 'text/event-stream', ...headers } });
  request.on('error', () => undefined).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  response.on('data', (part: Buffer) => (text += String(part)));
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'error', 'close'] as const) response.on(event, () => resolve());
  });
  return {
    status: response.statusCode ?? 0,
    text: () => text,
    ended,
    close: () => void request.destroy(),
  };
}
