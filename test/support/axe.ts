import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Violation {
  id: string;
  help: string;
  nodes: { html: string }[];
}

/** The errors that axe finds in the current page, one line for each rule. The page's policy allows no script tag, so the code is evaluated. */
export async function violationsOf(page: Page): Promise<string[]> {
  const source = await readFile(SOURCE, 'utf8');
  await page.evaluate(source);
  const { violations } = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
    violations: Violation[];
  };
  return violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.html ?? ''})`);
}
