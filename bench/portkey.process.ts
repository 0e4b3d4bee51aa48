/**
 * Portkey's gateway with the @hono/node-server that its streams work with (1.13.5, ours): later versions give it responses whose headers
 * cannot be changed, so that every stream ends with a 500. Arguments: the repository's root, then the arguments of Portkey.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [root = ''] = process.argv.splice(2, 1);
const ours = pathToFileURL(join(root, 'bench/package.json')).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier === '@hono/node-server' ? { ...context, parentURL: ours } : context),
});
await import(pathToFileURL(join(root, 'bench/node_modules/@portkey-ai/gateway/build/start-server.js')).href);
