import { useJobs } from '@penstock/client/react';

/** Shows the organisation's jobs, updated live, with a button that loads older ones. */
export function Jobs() {
  const { jobs, hasMore, loadMore, error } = useJobs();
  if (error) return <p>{error.message}</p>;
  return (
    <>
      <ul>
        {jobs?.map((job) => (
          <li key={job.id}>{`${job.createdAt} ${job.status}`}</li>
        ))}
      </ul>
      {hasMore && <button onClick={() => void loadMore()}>Older</button>}
    </>
  );
}
