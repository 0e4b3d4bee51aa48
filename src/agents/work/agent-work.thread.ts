/** Computes what would hold up the event loop, and what strangers' pages could make endless: the pool ends this thread then. */
import { parentPort } from 'node:worker_threads';
import { WorkRefusal } from './work-refusal.js';
import type { WorkReply, WorkRequest } from './work.types.js';

/** Each kind loads its libraries with its first task. */
async function run(request: WorkRequest): Promise<WorkReply> {
  const { id } = request;
  switch (request.kind) {
    case 'page': {
      const { readablePage } = await import('./readable-page.js');
      return { id, page: await readablePage(request.html, request.url) };
    }
    case 'chart': {
      const { drawChart } = await import('./chart.js');
      return { id, chart: await drawChart(request.chart) };
    }
    case 'pdf': {
      const { renderPdf } = await import('./pdf.js');
      return { id, pdf: await renderPdf(request.title, request.markdown) };
    }
  }
}

parentPort?.on('message', (request: WorkRequest) => {
  run(request)
    .catch((error: unknown): WorkReply => {
      const { id } = request;
      if (error instanceof WorkRefusal) return { id, refused: error.message };
      return { id, failed: error instanceof Error ? error.message : 'failed' };
    })
    .then((reply) => parentPort?.postMessage(reply))
    .catch(() => process.exit(1));
});
