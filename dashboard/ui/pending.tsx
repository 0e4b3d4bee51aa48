import { useEffect, useState, type ReactNode } from 'react';
import { Loading } from './basics.js';

const PATIENCE_MS = 3_000;

/** Shown while the files of a view are being loaded. After some seconds it says why nothing else is shown. */
export function Pending(): ReactNode {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      {isLong && (
        <p role="status" className="muted">
          The server has not answered yet. The page appears as soon as it does.
        </p>
      )}
      <Loading rows={5} />
    </>
  );
}
