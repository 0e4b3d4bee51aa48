import { useJobs } from '@penstock/client/react';

/** The organisation's jobs, live, with a button for older ones. */
export function Jobs() {
  const { jobs, hasMore, loadMore, error } = useJobs({ tool: 'image' });
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
