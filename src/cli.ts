import { run } from './cli/program.js';

await run(process.argv.slice(2));
