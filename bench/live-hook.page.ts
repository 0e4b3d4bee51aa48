/** A page of another origin with one live job, which reports the time at which its hook gets each event. */
import { createElement, useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { createPenstock } from '../client/src/index.js';
import { PenstockProvider, useJob } from '../client/src/react.js';

interface Page {
  /** Set by the benchmark. */
  arrived(at: number): void;
  show(server: { url: string; token: string; id: string }): void;
  document: { body: never };
}

const page = globalThis as unknown as Page;

function Job({ id }: { id: string }) {
  const { job } = useJob(id);
  // The component shows it.
  useLayoutEffect(() => {
    if (job !== undefined) page.arrived(Date.now());
  }, [job]);
  return createElement('p', null, job?.progress);
}

page.show = ({ url, token, id }) => {
  const client = createPenstock({ url, token });
  const app = createElement(PenstockProvider, { client }, createElement(Job, { id }));
  createRoot(page.document.body).render(app);
};
