import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// What V8 compiled is kept between starts, for compiling is a fifth of one. Where the folder for it cannot be written, nothing is kept.
enableCompileCache();
// A collection in a quiet minute finds no call under way, and with the last objects of its shape compiled code goes too: the next thousands
// of calls would cost up to twice as much, until all of it is compiled again. So shapes are kept (docs/adr/0009).
setFlagsFromString('--retain-maps-for-n-gc=1000000');
// Such a collection would let them go nevertheless.
setFlagsFromString('--no-memory-reducer-favors-memory');
await import('./boot/serve.js');
