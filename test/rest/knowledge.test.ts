import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import PDFDocument from 'pdfkit';
import type { Sql } from '../../src/database/database.types.js';
import { ApiError } from '../../src/contract/errors.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';
import { docxOf, wordXml } from '../support/zip.js';

let penstock: TestServer;
let key: string;
let orgId: string;
let agentId: string;

interface FileRecord {
  id: string;
  status: string;
  error_message: string | null;
  chunk_count: number;
}

beforeAll(async () => {
  // Files are watched by asking often.
  const rate = { rpm: 60_000, burst: 60_000 };
  penstock = await startPenstock({ plans: { plans: { pro_monthly: { rate } } } });
  ({ key, orgId } = await penstock.createOrg({ plan: 'pro_monthly' }));
  agentId = await createAgent(key);
});

afterAll(() => penstock.close());

async function createAgent(owner: string): Promise<string> {
  const body = { name: 'Reader', system_prompt: 'Answer out of the files.' };
  const answer = await penstock.rest<{ agent: { id: string } }>('POST', '/agents', { key: owner, body });
  expect(answer.status).toBe(200);
  return answer.body.agent.id;
}

async function upload(
  bytes: Uint8Array | string,
  filename: string,
  options: { key?: string; agent?: string } = {},
) {
  const form = new FormData();
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), filename);
  const response = await fetch(`${penstock.baseUrl}/agents/${options.agent ?? agentId}/knowledge`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.key ?? key}` },
    body: form,
  });
  return {
    status: response.status,
    body: (await response.json()) as { file: FileRecord; error?: string; param?: string },
  };
}

async function finished(fileId: string): Promise<FileRecord> {
  return await eventually(async () => {
    const { body } = await penstock.rest<{ file: FileRecord }>(
      'GET',
      `/agents/${agentId}/knowledge/${fileId}`,
      { key },
    );
    return (body.file.status === 'completed' || body.file.status === 'failed') && body.file;
  });
}

async function remove(fileId: string): Promise<void> {
  const answer = await penstock.rest('DELETE', `/agents/${agentId}/knowledge/${fileId}`, { key });
  expect(answer.body).toEqual({ success: true });
}

function search(query: string) {
  return penstock.services.knowledge.search({ agentId, agentOrgId: orgId, query, limit: 3 });
}

function pdf(text: string): Promise<Buffer> {
  const document = new PDFDocument();
  const parts: Buffer[] = [];
  document.on('data', (part: Buffer) => parts.push(part));
  document.text(text);
  document.end();
  return new Promise((resolve) => document.on('end', () => resolve(Buffer.concat(parts))));
}

test('an uploaded text goes from pending to completed, is listed, found, and gone at once when deleted', async () => {
  const text = `# Turbines\n\nThe spare rotor lies in hall seven.\n\n${'Nothing of note. '.repeat(200)}`;
  const { status, body } = await upload(text, '../../notes.md');
  expect(status).toBe(200);
  expect(body.file).toMatchObject({
    id: expect.stringMatching(/^kf_/),
    agent_id: agentId,
    filename: 'notes.md',
    content_type: 'text/markdown',
    size_bytes: Buffer.byteLength(text),
    status: 'pending',
    error_message: null,
  });
  const done = await finished(body.file.id);
  expect(done).toMatchObject({ status: 'completed' });
  expect(done.chunk_count).toBeGreaterThan(2);
  const list = await penstock.rest<{ files: FileRecord[] }>('GET', `/agents/${agentId}/knowledge`, { key });
  expect(list.body.files.map(({ id }) => id)).toEqual([body.file.id]);
  const [first] = await search('where is the spare rotor?');
  expect(first).toMatchObject({ filename: 'notes.md', position: 0 });
  await remove(body.file.id);
  expect(await search('spare rotor')).toEqual([]);
});

test('texts in scripts without spaces are found by words within a sentence', async () => {
  const texts = {
    'zh.txt': '公司的退款政策：顾客可以在三十天内申请退款。三峡大坝在湖北省。',
    'ja.txt': '返品は購入から三十日以内に受け付けます。社員には年に二十日の有給休暇があります。',
    'en.txt': 'Our refund policy allows returns within thirty days.',
  };
  const files = await Promise.all(Object.entries(texts).map(([name, text]) => upload(text, name)));
  for (const { body } of files) expect((await finished(body.file.id)).status).toBe('completed');

  const asked = {
    退款: 'zh.txt',
    '退款政策是什么？': 'zh.txt',
    '三峡大坝在哪里？': 'zh.txt',
    有給休暇は何日ですか: 'ja.txt',
    'refund policy': 'en.txt',
  };
  for (const [query, filename] of Object.entries(asked))
    expect((await search(query))[0], query).toMatchObject({ filename });
  for (const { body } of files) await remove(body.file.id);
});

test('PDF and CSV are read, and a PDF is known by its content whatever it is called', async () => {
  const table = await upload('city;rain\nBergen;2250\nOslo;763\n', 'rain.csv');
  const paper = await upload(await pdf('The weir was finished in 1911 by Ada Berg.'), 'report.txt');
  expect(paper.body.file).toMatchObject({ content_type: 'application/pdf' });
  for (const { body } of [table, paper])
    expect(await finished(body.file.id)).toMatchObject({ status: 'completed' });
  expect((await search('rain in Bergen'))[0]?.text).toContain('city: Bergen; rain: 2250');
  expect((await search('who finished the weir'))[0]?.text).toContain('Ada Berg');
  for (const { body } of [table, paper]) await remove(body.file.id);
});

test('words of a DOCX stay apart where a line, a page or a tab parts them', async () => {
  const parting = ['<w:br/>', '<w:tab/>', '<w:br w:type="page"/>'].map((mark) => `</w:t>${mark}<w:t>`);
  const [line, tab, page] = parting;
  const document = wordXml(`Alpha${line}Bravo${tab}Charlie${page}Delta</w:t></w:r></w:p><w:p><w:r><w:t>Echo`);
  const { body } = await upload(docxOf(document), 'parts.docx');
  expect(await finished(body.file.id)).toMatchObject({ status: 'completed' });
  expect((await search('Charlie'))[0]?.text.split(/\s+/)).toEqual([
    'Alpha',
    'Bravo',
    'Charlie',
    'Delta',
    'Echo',
  ]);
  await remove(body.file.id);
});

test('a text that tells of PDFs is a text; a PDF behind something else is a PDF', async () => {
  const text = await upload('# About PDF\nEvery PDF begins with %PDF-1.7, and so on.', 'about.md');
  expect(text.body.file).toMatchObject({ content_type: 'text/markdown' });
  const whole = await pdf('The lock has two chambers.');
  const behind = [
    await upload(Buffer.concat([Buffer.from('\r\n'), whole]), 'blank.pdf'),
    await upload(Buffer.concat([Buffer.from('printed by spooler 7\n'), whole]), 'spooled.bin'),
  ];
  for (const { body } of behind) expect(body.file).toMatchObject({ content_type: 'application/pdf' });
  for (const { body } of [text, ...behind]) {
    expect(await finished(body.file.id)).toMatchObject({ status: 'completed' });
    await remove(body.file.id);
  }
});

test('a DOCX is read whatever its main part is called', async () => {
  const { status, body } = await upload(
    docxOf(wordXml('The weir is open.'), [], { main: 'document2.xml' }),
    'web.docx',
  );
  expect(status).toBe(200);
  expect(await finished(body.file.id)).toMatchObject({ status: 'completed' });
  expect((await search('weir open'))[0]?.text).toBe('The weir is open.');
  await remove(body.file.id);
});

test('of a long file name the end is kept, in whole characters', async () => {
  const { body } = await upload('text', `${'😀'.repeat(300)}.txt`);
  expect(body.file).toMatchObject({ filename: `${'😀'.repeat(251)}.txt` });
  await remove(body.file.id);
});

test.each([
  ['an EXE named .pdf', Buffer.from('4d5a90000300000004000000ffff0000b8', 'hex'), 'invoice.pdf'],
  ['a zip that is no document', Buffer.from('PK\x03\x04rubbish', 'latin1'), 'x.docx'],
  ['nothing', Buffer.alloc(0), 'x.txt'],
])('%s is an unsupported type', async (_what, bytes, name) => {
  expect(await upload(bytes, name)).toMatchObject({
    status: 400,
    body: { error: 'Unsupported file type', param: 'file' },
  });
});

test('a broken PDF ends as failed, with the reason', async () => {
  const { body } = await upload('%PDF-1.7\nthis is not a document', 'broken.pdf');
  expect(await finished(body.file.id)).toMatchObject({
    status: 'failed',
    error_message: 'The file cannot be read',
  });
  await remove(body.file.id);
});

test("a file over the plan's size is refused while it is read", async () => {
  const answer = await upload(Buffer.alloc(10 * 1024 * 1024 + 1, 'a'), 'big.txt');
  expect(answer).toMatchObject({ status: 413, body: { error: 'File exceeds the maximum size of 10 MB' } });
});

test('an agent is deleted although its files are deleted at the same time', async () => {
  const body = { name: 'Short-lived', system_prompt: 'x' };
  for (let round = 0; round < 5; round++) {
    const made = await penstock.rest<{ agent: { id: string } }>('POST', '/agents', { key, body });
    const agent = made.body.agent.id;
    const uploads = await Promise.all(
      ['one', 'two', 'three', 'four'].map((name) => upload(name, `${name}.txt`, { agent })),
    );
    const files = uploads.map((answer) => `/agents/${agent}/knowledge/${answer.body.file.id}`);
    const [deleted] = await Promise.all(
      [`/agents/${agent}`, ...files].map((path) => penstock.rest('DELETE', path, { key })),
    );
    expect(deleted).toMatchObject({ status: 200, body: { success: true } });
    expect(await penstock.rest('GET', `/agents/${agent}`, { key })).toMatchObject({ status: 404 });
  }
});

test("the plan's number of files holds, also for uploads at the same time", async () => {
  const answers = await Promise.all(Array.from({ length: 7 }, (_, n) => upload(`file ${n}`, `${n}.txt`)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(answers.find(({ status }) => status !== 200)).toMatchObject({
    status: 402,
    body: { error: 'Knowledge file limit reached' },
  });
  for (const { status, body } of answers) if (status === 200) await remove(body.file.id);
});

test('a truncated multipart body, one without a file and one with another file besides are 400, JSON is 415', async () => {
  const path = `/agents/${agentId}/knowledge`;
  const send = (body: string, type: string) =>
    penstock.rest('POST', path, { key, body, headers: { 'content-type': type } });
  const form = 'multipart/form-data; boundary=x';
  const cut = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhal';
  expect(await send(cut, form)).toMatchObject({ status: 400 });
  expect(
    await send('--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n1\r\n--x--\r\n', form),
  ).toMatchObject({
    status: 400,
    body: { error: 'file is required', param: 'file' },
  });
  const whole = `${cut}f\r\n--x\r\nContent-Disposition: form-data; name="orgId"\r\n\r\n1\r\n--x--\r\n`;
  expect(await send(whole, form)).toMatchObject({
    status: 400,
    body: { error: 'Unknown parameter: orgId', param: 'orgId' },
  });
  const another = (name: string) =>
    `${cut}f\r\n${cut.replace('name="file"', `name="${name}"`)}f\r\n--x--\r\n`;
  expect(await send(another('draft'), form)).toMatchObject({
    status: 400,
    body: { error: 'Unknown parameter: draft', param: 'draft' },
  });
  expect(await send(another('file'), form)).toMatchObject({
    status: 400,
    body: { error: 'file must be one file', param: 'file' },
  });
  expect(await send('{}', 'application/json')).toMatchObject({ status: 415 });
});

test("another organisation's agent is not found, and the Free plan has none", async () => {
  const stranger = await penstock.createOrg({ plan: 'pro_monthly' });
  expect(await upload('text', 'a.txt', { key: stranger.key })).toMatchObject({
    status: 404,
    body: { error: 'Agent not found' },
  });
  const free = await penstock.createOrg({ plan: 'free' });
  expect(await upload('text', 'a.txt', { key: free.key })).toMatchObject({
    status: 403,
    body: { error: 'AI Agents are not available' },
  });
});

test('a process takes one waiting file at a time and reads them all, whatever PostgreSQL believes of the table', async () => {
  const own = await penstock.createOrg({ plan: 'business_monthly' });
  const agent = await createAgent(own.key);
  const { installation } = penstock;
  await upload('The first.', 'first.txt', { key: own.key, agent });
  const statuses = async () => {
    const sql = 'SELECT status FROM knowledge_files WHERE agent_id = $1';
    return (await installation.sql<{ status: string }>(sql, [agent])).map(({ status }) => status);
  };
  await eventually(async () => (await statuses())[0] === 'completed');
  // As autovacuum does: with one row known, a join's sides change places.
  await installation.sql('VACUUM ANALYZE knowledge_files');
  const names = Array.from({ length: 6 }, (_, n) => `${n}.txt`);
  await Promise.all(names.map((name) => upload(name, name, { key: own.key, agent })));
  await eventually(async () => {
    const now = await statuses();
    expect(now.filter((status) => status === 'processing').length).toBeLessThanOrEqual(1);
    return now.length === 7 && now.every((status) => status === 'completed');
  });
});

test('whose bytes could not be had is read again, not failed', async () => {
  const { files } = penstock.services;
  const read = files.read.bind(files);
  let refused = 0;
  const spy = vi.spyOn(files, 'read').mockImplementation(async (owner, id) => {
    if (owner === orgId && refused++ === 0) throw Object.assign(new Error('EIO'), { code: 'EIO' });
    return await read(owner, id);
  });
  try {
    const { body } = await upload('The sluice was built in 1912.', 'sluice.txt');
    await eventually(() => refused > 0);
    // Its lease runs out, a minute and a half later.
    await penstock.installation.sql(
      `UPDATE knowledge_files SET lease_until = now() - interval '1 s' WHERE id = $1`,
      [body.file.id],
    );
    expect(await finished(body.file.id)).toMatchObject({ status: 'completed', error_message: null });
    expect(refused).toBe(2);
  } finally {
    spy.mockRestore();
  }
});

test('whose reading met a database that was away is read again, not failed', async () => {
  const { database } = penstock.services;
  const transaction = database.transaction.bind(database);
  let refused = 0;
  const refuseOnce = (sql: Sql): Sql => ({
    query: async (statement, values) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      if (text.includes('INSERT INTO knowledge_chunks') && (refused += 1) === 1)
        throw new ApiError('unavailable', 'Service temporarily unavailable');
      return await sql.query(statement, values);
    },
  });
  const spy = vi
    .spyOn(database, 'transaction')
    .mockImplementation((work) => transaction((sql) => work(refuseOnce(sql))));
  try {
    const { body } = await upload('The weir was built in 1911.', 'weir.txt');
    expect(await finished(body.file.id)).toMatchObject({ status: 'completed', error_message: null });
    expect(refused).toBe(2);
  } finally {
    spy.mockRestore();
  }
});
