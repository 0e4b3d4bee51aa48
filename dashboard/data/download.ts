import { useEffect, useRef, useState } from 'react';
import type { Fault } from './fault.js';
import { graphql, type VariablesOf } from './graphql.js';
import { usePlace } from './hooks.js';

/** The same export as over REST. It uses GraphQL because the session's cookie is valid only there. */
const EXPORT = graphql(`
  subscription UsageExport($filter: UsageRecordFilter, $format: UsageExportFormat!) {
    usageExport(filter: $filter, format: $format) {
      sequence
      text
    }
  }
`);

type Variables = VariablesOf<typeof EXPORT>;

const TYPES = { csv: 'text/csv', jsonl: 'application/jsonl' } as const;
const FREE_MS = 60_000;

/** Saves a file in the browser, as a download link does. */
function save(parts: readonly Blob[], format: Variables['format']): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: TYPES[format] }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `usage.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), FREE_MS);
}

/** The state of a download. */
export interface Download {
  /** Bytes received so far; undefined if no download is running. */
  bytes: number | undefined;
  fault: Fault | undefined;
  start(variables: Variables): void;
  stop(): void;
}

/** Downloads metered operations as a file. The download ends when the view is closed. */
export function useDownload(): Download {
  const { api } = usePlace();
  const [bytes, setBytes] = useState<number>();
  const [fault, setFault] = useState<Fault>();
  const end = useRef<() => void>(undefined);
  const stop = (): void => {
    end.current?.();
    end.current = undefined;
    setBytes(undefined);
  };
  useEffect(() => () => end.current?.(), []);
  const start = (variables: Variables): void => {
    stop();
    setFault(undefined);
    setBytes(0);
    let parts: Blob[] = [];
    let size = 0;
    end.current = api.follow(EXPORT, variables, {
      next({ usageExport: { sequence, text } }) {
        // After a lost connection the export starts again from its beginning.
        if (sequence === 1) {
          parts = [];
          size = 0;
        }
        const part = new Blob([text]);
        parts.push(part);
        size += part.size;
        setBytes(size);
      },
      fail(failed) {
        stop();
        setFault(failed);
      },
      done() {
        stop();
        save(parts, variables.format);
      },
    });
  };
  return { bytes, fault, start, stop };
}
