/** The minimum of the comparison: it only forwards bytes. */
import { passHead, sendOn, serveProxy } from './proxy.js';

serveProxy((response, body) =>
  sendOn(response, body, {
    onResponseStart: passHead(response),
    onResponseData: (controller, data) => {
      if (response.write(data)) return;
      controller.pause();
      response.once('drain', () => controller.resume());
    },
    onResponseEnd: () => response.end(),
  }),
);
process.on('SIGTERM', () => process.exit(0));
