/** Computes what would hold up the event loop, and what strangers' pages could make endless: the pool ends this thread then. */
import { lowerThreadPriority } from '../../processes/index.js';
import { WorkRefusal } from './work-refusal.js';
import type { WorkReply, WorkTask } from './work.types.js';

lowerThreadPriority();

/** A task of the pool. Each kind loads its libraries with its first task. */
export async function work(task: WorkTask): Promise<WorkReply> {
  try {
    return await done(task);
  } catch (error) {
    // An error loses its class on its way out of a thread.
    if (error instanceof WorkRefusal) return { refused: error.message };
    return { failed: error instanceof Error ? error.message : 'failed' };
  }
}

async function done(task: WorkTask): Promise<WorkReply> {
  switch (task.kind) {
    case 'page': {
      const { readablePage } = await import('./readable-page.js');
      return { page: await readablePage(task.html, task.url) };
    }
    case 'chart': {
      const { drawChart } = await import('./chart.js');
      return { chart: await drawChart(task.chart) };
    }
    case 'pdf': {
      const { renderPdf } = await import('./pdf.js');
      return { pdf: await renderPdf(task.title, task.markdown) };
    }
  }
}
