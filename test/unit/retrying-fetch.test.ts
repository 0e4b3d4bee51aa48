import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createRetryingFetch } from '../../src/egress/index.js';

test('a service that accepts a request and says nothing is given up, and not asked again', async () => {
  let requests = 0;
  const server = createServer(() => void (requests += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;

  const asked = createRetryingFetch(100)(`http://127.0.0.1:${port}/`);

  await expect(asked).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } });
  expect(requests).toBe(1);
});
