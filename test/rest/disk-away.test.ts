import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waveOf } from '../support/audio.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

test('an input that cannot be stored fails as its endpoint fails, and costs nothing', async () => {
  const server = await spawnPenstock(installation);
  const { key, orgId } = await installation.createOrg();
  const folder = join(installation.dataDir, 'files');
  await rename(folder, `${folder}-away`);
  await writeFile(folder, '');
  const file = `data:audio/wav;base64,${waveOf(new Int16Array(16_000)).toString('base64')}`;
  expect(await server.rest('POST', '/audio/transcriptions', { key, body: { file } })).toMatchObject({
    status: 500,
    body: { error: 'Transcription failed', code: 'server_error' },
  });
  expect(
    await installation.sql(`SELECT 1 FROM usage_ledger WHERE org_id = $1 AND kind <> 'period'`, [orgId]),
  ).toEqual([]);
  await eventually(() => server.output().includes('ENOTDIR'));
  await server.close();
});
