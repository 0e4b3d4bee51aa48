import { useQuota } from '@penstock/client/react';

/** Shows how much of each bucket is left. */
export function Quota() {
  const { quota, error } = useQuota();
  if (error) return <p>{error.message}</p>;
  return (
    <ul>
      {quota?.quotas.map(({ bucket, remaining }) => (
        <li key={bucket}>{`${bucket}: ${remaining}`}</li>
      ))}
    </ul>
  );
}
