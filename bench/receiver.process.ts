/** A webhook receiver over HTTPS: reads each body and answers 204. PORT, and the certificate's files in KEY and CERT. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const { PORT = '0', KEY = '', CERT = '' } = process.env;
const server = createServer({ key: readFileSync(KEY), cert: readFileSync(CERT) }, (request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(204).end());
});
server.keepAliveTimeout = 60_000;
server.listen(Number(PORT), '127.0.0.1');
