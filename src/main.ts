import { enableCompileCache } from 'node:module';

// What V8 compiled is kept between starts, for compiling is a fifth of one. Where the folder for it cannot be written, nothing is kept.
enableCompileCache();
await import('./serve.js');
