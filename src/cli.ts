import { enableCompileCache } from 'node:module';

enableCompileCache(); // as in main.ts: a command is mostly its start
const { run } = await import('./cli/program.js');

await run(process.argv.slice(2));
