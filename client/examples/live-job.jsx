import { createRoot } from 'react-dom/client';
import { createPenstock } from '@penstock/client';
import { PenstockProvider, useJob } from '@penstock/client/react';

const tokenProvider = () => fetch('/penstock-token').then((answer) => answer.json());
const client = createPenstock({ url: 'http://127.0.0.1:4000', tokenProvider });

function Job({ id }) {
  const { job, error } = useJob(id);
  return <p>{error?.message ?? `${job?.status ?? 'loading'} ${job?.progress ?? 0} %`}</p>;
}

const id = new URLSearchParams(location.search).get('job');
createRoot(document.body).render(
  <PenstockProvider client={client}>
    <Job id={id} />
  </PenstockProvider>,
);
