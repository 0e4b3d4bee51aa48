import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgress, EgressError } from '../../src/egress/index.js';
import type { Egress, NameResolver } from '../../src/egress/index.js';
import type { ApiError } from '../../src/contract/errors.js';

/** A private service that no caller may reach; it counts every connection. */
let sink: Server;
let port: number;
let connections = 0;

beforeAll(async () => {
  sink = createServer((request, response) => {
    if (request.url === '/endless') {
      const timer = setInterval(() => response.write(Buffer.alloc(65_536, 'x')), 1);
      response.on('close', () => clearInterval(timer));
      return;
    }
    if (request.url === '/bomb') {
      const bomb = gzipSync(Buffer.alloc(100e6, 'x'));
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      return;
    }
    if (request.url?.startsWith('/empty/') === true) {
      response.writeHead(Number(request.url.slice(7)), { 'content-encoding': 'gzip' }).end();
      return;
    }
    if (request.url === '/silent') return;
    if (request.url === '/drip') {
      response.writeHead(200).write('a');
      return;
    }
    if (request.url?.startsWith('/to?') === true) {
      response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
      return;
    }
    response.writeHead(200, { 'x-seen': String(request.headers['authorization'] ?? 'none') }).end('hello');
  });
  sink.on('connection', () => connections++);
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  port = (sink.address() as AddressInfo).port;
});

afterAll(() => {
  sink.closeAllConnections();
  sink.close();
});

const resolveTo =
  (...addresses: string[]): NameResolver =>
  (_hostname, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

const egressWith = (allow: string[] = [], resolve: NameResolver = resolveTo('127.0.0.1')) =>
  createEgress({ config: { egress: { allow } }, resolve });

const FORBIDDEN_FORMS = [
  'http://user@example.com/',
  'http://user:pass@example.com/',
  'http://example.com@127.0.0.1/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://１２７.０.０.１:PORT/',
  'http://①②⑦.0.0.1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://[::]:PORT/',
  'http://[::1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://ｌｏｃａｌｈｏｓｔ:PORT/',
  'http://a.localhost:PORT/',
  'http://a.localhost.:PORT/',
  'http://metadata.google.internal/',
  'file:///etc/passwd',
  'ftp://example.com/x',
  'gopher://example.com/',
  'javascript:alert(1)',
  '//example.com/x',
  'http:example.com',
  'http:/example.com',
  'http:///example.com',
  'http:\\\\example.com\\',
  'http://example.com\\@127.0.0.1:PORT/',
  'http://exa\tmple.com/',
  'http://example.com/\r\nHost: x',
  'http://example.com/a b',
  ' http://example.com/',
  'http://127.0.0.1:PORT\u0000.example.com/',
  'http://example.com:99999/',
  'http://exa\u00admple.com/',
  `http://example.com/${'x'.repeat(9000)}`,
  '',
];

const FORBIDDEN_ADDRESSES = [
  'http://127.0.0.1:PORT/',
  'http://127.255.0.9/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://192.0.0.1/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
];

const written = (form: string) => form.replace('PORT', String(port));

async function fault(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => 'none',
    (error: unknown) => (error instanceof EgressError ? error.fault : String(error)),
  );
}

async function withEgress<T>(egress: Egress, work: (egress: Egress) => Promise<T>): Promise<T> {
  try {
    return await work(egress);
  } finally {
    await egress.close();
  }
}

describe('a URL that a caller gives', () => {
  it.each([...FORBIDDEN_FORMS, ...FORBIDDEN_ADDRESSES])(
    'is refused before any connection: %j',
    async (form) => {
      const before = connections;
      await withEgress(egressWith(), async (egress) => {
        expect(() => egress.checkUrl(written(form), { field: 'image' })).toThrow(
          expect.objectContaining({
            message: 'Invalid URL',
            code: 'invalid_request',
            details: { param: 'image' },
          }) as ApiError,
        );
        expect(await fault(egress.request(written(form), { maxBytes: 100 }))).toBe('forbidden');
      });
      expect(connections).toBe(before);
    },
  );

  it.each(FORBIDDEN_FORMS)(
    'is refused in a misleading form even where its address is allowed: %j',
    (form) => {
      const egress = egressWith(['127.0.0.0/8', '169.254.0.0/16']);
      expect(() => egress.checkUrl(written(form))).toThrow('Invalid URL');
    },
  );

  it('is accepted where it names a public host or a literal public address', () => {
    const egress = egressWith();
    for (const form of [
      'https://example.com/a?b=c#d',
      'HTTP://Example.COM:8080/x',
      'https://bücher.example/',
      'http://93.184.216.34/',
      'http://[2606:2800:220:1:248:1893:25c8:1946]/',
    ])
      expect(egress.checkUrl(form).protocol).toMatch(/^https?:$/);
  });

  it('must be https where the field demands it, an allowed address too', () => {
    const egress = egressWith(['127.0.0.0/8']);
    expect(() => egress.checkUrl('http://example.com/', { httpsOnly: true })).toThrow('Invalid URL');
    expect(() => egress.checkUrl('http://127.0.0.1/', { httpsOnly: true })).toThrow('Invalid URL');
    expect(egress.checkUrl('https://127.0.0.1/', { httpsOnly: true }).hostname).toBe('127.0.0.1');
  });
});

describe('a connection to the outside', () => {
  it.each([
    ['127.0.0.1'],
    ['::1'],
    ['169.254.169.254'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['10.0.0.1', 'fc00::1'],
  ])('is not made to a name that resolves to %s', async (...addresses) => {
    const before = connections;
    await withEgress(egressWith([], resolveTo(...addresses)), async (egress) => {
      expect(await fault(egress.request(`http://rebound.example:${port}/`, { maxBytes: 100 }))).toBe(
        'forbidden',
      );
    });
    expect(connections).toBe(before);
  });

  it('goes to the address that was checked, although the name changes its mind afterwards', async () => {
    let asked = 0;
    const rebinding: NameResolver = (_hostname, _options, callback) =>
      callback(null, [{ address: asked++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }]);
    await withEgress(egressWith(['127.0.0.1/32'], rebinding), async (egress) => {
      const answer = await egress.request(`http://rebound.example:${port}/`, { maxBytes: 100 });
      expect(answer.body.toString()).toBe('hello');
      expect(asked).toBe(1);
    });
  });

  it('reaches a private address that the operator allows', async () => {
    await withEgress(egressWith(['127.0.0.0/8']), async (egress) => {
      const answer = await egress.request(`http://127.0.0.1:${port}/`, { maxBytes: 100 });
      expect(answer).toMatchObject({ status: 200, truncated: false, url: `http://127.0.0.1:${port}/` });
    });
  });

  it('does not follow a redirect unless asked, and then checks its target like the first address', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const to = (target: string) => `http://127.0.0.1:${port}/to?${encodeURIComponent(target)}`;
      expect((await egress.request(to('/x'), { maxBytes: 100 })).status).toBe(302);
      expect((await egress.request(to('/x'), { maxBytes: 100, maxRedirects: 3 })).status).toBe(200);
      for (const target of [
        'http://127.0.0.2/',
        `http://localhost:${port}/`,
        'file:///etc/passwd',
        `http://127.1:${port}/`,
      ])
        expect(await fault(egress.request(to(target), { maxBytes: 100, maxRedirects: 3 }))).toBe('forbidden');
      expect(await fault(egress.request(to(to('/x')), { maxBytes: 100, maxRedirects: 1 }))).toBe('redirect');
    });
  });

  it('does not carry credentials to another origin', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const target = `http://other.example:${port}/`;
      const answer = await egress.request(`http://127.0.0.1:${port}/to?${encodeURIComponent(target)}`, {
        maxBytes: 100,
        maxRedirects: 1,
        headers: { authorization: 'Bearer secret' },
      });
      expect(answer.headers['x-seen']).toBe('none');
    });
  });

  it('stops reading at the size limit', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const url = `http://127.0.0.1:${port}/endless`;
      expect(await fault(egress.request(url, { maxBytes: 100_000 }))).toBe('too_large');
      const answer = await egress.request(url, { maxBytes: 100_000, onLimit: 'cut' });
      expect(answer.truncated).toBe(true);
      expect(answer.body).toHaveLength(100_000);
    });
  });

  it('stops unpacking there too, and gives what it unpacked without the encoding', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const url = `http://127.0.0.1:${port}/bomb`;
      expect(await fault(egress.request(url, { maxBytes: 100_000 }))).toBe('too_large');
      const { body, headers, truncated } = await egress.request(url, { maxBytes: 100_000, onLimit: 'cut' });
      expect([body.length, body.toString('latin1', 0, 3), truncated]).toEqual([100_000, 'xxx', true]);
      expect(headers).not.toHaveProperty('content-encoding');
    });
  });

  it('takes an empty body for that in each encoding, and keeps its connection', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const before = connections;
      for (const onLimit of ['fault', 'cut'] as const)
        for (const status of [200, 204, 304]) {
          const url = `http://127.0.0.1:${port}/empty/${status}`;
          const { body, truncated } = await egress.request(url, { maxBytes: 100, onLimit });
          expect([body.length, truncated]).toEqual([0, false]);
        }
      // Of six: a second one may be opened before the first is known to be free.
      expect(connections - before).toBeLessThan(3);
    });
  });

  it('gives up on a peer that says nothing, and judges a dripping body by its status where it may be cut', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const base = `http://127.0.0.1:${port}`;
      expect(await fault(egress.request(`${base}/silent`, { maxBytes: 100, totalTimeoutMs: 200 }))).toBe(
        'timeout',
      );
      expect(await fault(egress.request(`${base}/drip`, { maxBytes: 100, bodyTimeoutMs: 200 }))).toBe(
        'timeout',
      );
      const answer = await egress.request(`${base}/drip`, {
        maxBytes: 100,
        bodyTimeoutMs: 200,
        onLimit: 'cut',
      });
      expect(answer).toMatchObject({ status: 200, truncated: true });
    });
  });

  it('ends with its caller', async () => {
    await withEgress(egressWith(['127.0.0.1/32']), async (egress) => {
      const url = `http://127.0.0.1:${port}/silent`;
      expect(await fault(egress.request(url, { maxBytes: 100, signal: AbortSignal.timeout(1) }))).toMatch(
        /timeout/,
      );
      const controller = new AbortController();
      const pending = fault(egress.request(url, { maxBytes: 100, signal: controller.signal }));
      controller.abort();
      expect(await pending).toBe('aborted');
    });
  });
});

it('the sink counts what reaches it', async () => {
  const before = connections;
  await new Promise<void>((resolve) =>
    connect(port, '127.0.0.1', resolve)
      .on('error', () => undefined)
      .on('connect', function (this: { end(): void }) {
        this.end();
      }),
  );
  await expect.poll(() => connections).toBe(before + 1);
});
