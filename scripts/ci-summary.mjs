/**
 * The closing line of `.ci/run`: adds up the JSON results of vitest's runs. A run without results, and a file that failed outside its tests, count as
 * one failure each.
 */
import { readFile } from 'node:fs/promises';

let passed = 0;
let failed = 0;
let skipped = 0;
for (const path of process.argv.slice(2)) {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) {
    console.log(`${path}: the run left no results`);
    failed += 1;
    continue;
  }
  const result = JSON.parse(text);
  passed += result.numPassedTests;
  failed += result.numFailedTests;
  skipped += result.numPendingTests + result.numTodoTests;
  const broken = result.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  for (const file of broken) console.log(`${file.name}: ${file.message}`);
  failed += broken.length;
}
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
