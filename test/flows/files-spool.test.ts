import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openFiles } from '../../src/files/index.js';
import { createTestDatabase } from '../support/database.js';
import { eventually } from '../support/wait.js';

const signing = { current: 'secret', previous: null };
const logger = pino({ level: 'silent' });

it('what a process that died had half written goes an hour after it was written last, at a start or beside it', async () => {
  const { config, database, close } = await createTestDatabase();
  onTestFinished(close);
  const open = () => openFiles({ config, database, signing, logger });
  const before = await open();
  before.close();
  const [old, young] = ['old', 'young'].map((name) => join(before.spoolFolder, name)) as [string, string];
  const longAgo = new Date(Date.now() - 3_700_000);
  for (const path of [old, young]) await writeFile(path, 'half');
  await utimes(old, longAgo, longAgo);

  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const running = await open();
  onTestFinished(() => running.close());
  expect(await readdir(before.spoolFolder)).toEqual(['young']);
  await utimes(young, longAgo, longAgo);
  vi.advanceTimersByTime(3_600_000);
  await eventually(async () => (await readdir(before.spoolFolder)).length === 0);
});
