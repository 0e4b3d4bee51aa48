import { expect, it } from 'vitest';
import { makeToken, openEvents } from '../support/client-tokens.js';
import { startCollector } from '../support/collector.js';
import { createInstallation } from '../support/installation.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

/** Ways in which a browser, or a mistake, puts a token into a request. */
const paths = (token: string): string[] => [
  `/api/v1/jobs/unknown/stream?access_token=${token}`,
  `/api/v1/jobs/unknown/stream?access%5Ftoken=${token}`,
  `/api/v1/jobs/${token}/stream?access_token=${token}`,
  `/api/v1/jobs/%2563t_${token.slice(3)}`,
  `/api/v1/quota?access_token=${token}`,
  `/v1/responses/unknown?stream=true&access_token=${token}`,
  `/graphql?query=%7Bversion%7D&access_token=${token}`,
  `/graphql?access_token=${token}&access_token=${token}`,
  `/nowhere/${token}?access_token=${token}`,
  `/docs?access_token=${token}`,
  `/files/${token}?access_token=${token}`,
  `/%E0%A4%A?access_token=${token}`,
];

it('no log line, span, error or header that the server writes holds a client token', async () => {
  const installation = await createInstallation();
  const collector = await startCollector();
  const server = await spawnPenstock(installation, {
    env: { LOG_LEVEL: 'trace', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
  });
  try {
    const { key } = await installation.createOrg();
    const { token } = await makeToken(server, key, { scopes: ['usage', 'chat'], ttl_seconds: 60 });
    const secret = token.slice(3, 40);
    const said: string[] = [];
    for (const path of paths(token))
      for (const headers of [{}, { accept: 'text/event-stream' }, { 'x-request-id': token }]) {
        const answer = await server.raw(path, { method: 'GET', headers });
        said.push(JSON.stringify(answer.headers), await answer.body.text());
      }
    const query = new URLSearchParams({ query: 'subscription { jobUpdates { type } }' });
    const events = await openEvents(`${server.origin}/graphql?${query}&access_token=${token}`);
    expect(events.status).toBe(200);
    events.close();
    const address = server.origin.replace('http', 'ws');
    const ws = await openRawWebSocket(`${address}/graphql?access_token=${token}`);
    ws.send({ type: 'connection_init', payload: {} });
    await ws.next('connection_ack');
    ws.send({ id: '1', type: 'subscribe', payload: { query: '{ job(id: "unknown") { id } }' } });
    said.push(JSON.stringify(await ws.next('next')));
    ws.socket.close();
    await eventually(() => server.output().includes('/graphql'));
    await eventually(() => collector.spans.some(({ name }) => name.includes('WS')));
    expect(server.output()).toContain('clientTokenId');
    for (const written of [server.output(), JSON.stringify(collector.spans)])
      expect(written).not.toContain(secret);
    // A path's own text may be told back to who sent it; what came as a credential may not.
    expect(said.filter((text) => text.includes(`access_token=${token}`))).toEqual([]);
  } finally {
    await server.close();
    await collector.close();
    await installation.close();
  }
}, 120_000);
