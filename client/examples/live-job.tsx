import { createPenstock } from '@penstock/client';
import { PenstockProvider, useJob } from '@penstock/client/react';

const tokenProvider = () => fetch('/penstock-token').then((answer) => answer.json());
const client = createPenstock({ url: 'https://penstock.example.com', tokenProvider });

export function Job({ id }: { id: string }) {
  const { job, error } = useJob(id);
  return <p>{error?.message ?? `${job?.status ?? 'loading'} ${job?.progress ?? 0} %`}</p>;
}

/** Use it in your own page: `createRoot(document.body).render(<App id={id} />)`. */
export const App = ({ id }: { id: string }) => (
  <PenstockProvider client={client}>
    <Job id={id} />
  </PenstockProvider>
);
