import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

describe('the OpenAPI description', () => {
  it('is served to everybody, with the address’s window', async () => {
    const response = await fetch(`${server.baseUrl}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('60');
    expect(((await response.json()) as { openapi: string }).openapi).toBe('3.1.0');
  });

  it('breaks none of the recommended rules', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    await writeFile(file, Buffer.from(await (await fetch(`${server.baseUrl}/openapi.json`)).arrayBuffer()));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--format=json'],
      { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
    );
    await rm(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: { ruleId: string }[] };
    expect(problems.map(({ ruleId }) => ruleId)).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('lists the endpoints of the contract, each with its errors', async () => {
    const { paths } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/chat/completions',
        '/images/generations',
        '/embeddings',
        '/models',
        '/models/{provider}/{name}',
        '/jobs',
        '/jobs/{jobId}',
        '/jobs/{jobId}/stream',
        '/quota',
      ]),
    );
    for (const operation of Object.values(paths).flatMap((item) => Object.values(item)))
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(['200', '400', '401', '429', '500']),
      );
  });
});
