import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('references to rule books, decision records and documents that lead nowhere are found, and only those', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'references-'));
  try {
    await cp(join(root, 'docs'), join(folder, 'docs'), { recursive: true });
    for (const name of ['scripts', 'src']) await mkdir(join(folder, name));
    await cp(join(root, 'scripts/check-references.mjs'), join(folder, 'scripts/check-references.mjs'));
    const good = ['contract 4.3', 'contract 5.3', 'decisions 1.4', 'beyond 14.7', 'trust 2', 'ADR 4'];
    const bad = ['contract 4.99', 'decisions 11', 'decisions 1.9', 'beyond 9', 'trust 4', 'ADR 99'];
    const other = ['decisions.md 6', 'api.md 4.3', '../shared/spec/notes'];
    await writeFile(
      join(folder, 'src/code.ts'),
      [...good, ...bad, ...other].map((text) => `// ${text}`).join('\n'),
    );
    await writeFile(join(folder, 'src/wrapped.ts'), '/**\n * What the contract\n * 4.98 says.\n */\n');
    await writeFile(
      join(folder, 'page.md'),
      '# A page\n[a](#a-page) [b](docs/adr) [c](gone.md) [d](#gone)\n',
    );
    const ran = promisify(execFile)(process.execPath, [join(folder, 'scripts/check-references.mjs')]);
    const { stderr } = (await ran.catch((error: unknown) => error)) as { stderr: string };
    const faults = stderr.split('\n').filter((line) => /^(src|page)/.test(line));
    expect(faults.map((line) => line.replace(/:\d+: /, ': ')).sort()).toEqual(
      [
        ...bad.map((text) => `src/code.ts: ${text} is nowhere`),
        ...['decisions.md', 'api.md 4', '../shared/spec'].map(
          (form) => `src/code.ts: write \`decisions 6\` and the like, not ${form}`,
        ),
        'src/wrapped.ts: contract 4.98 is nowhere',
        'page.md: the link #gone names no heading',
        'page.md: the link gone.md leads nowhere',
      ].sort(),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
