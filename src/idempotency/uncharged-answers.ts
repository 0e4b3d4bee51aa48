import { createHash } from 'node:crypto';
import type { TimeSlicer } from '../collections/time-slicer.js';
import type { UnchargedAnswer, UnchargedAnswers } from '../metering/call-context.js';
import { jsonPieces } from '../text/json-pieces.js';
import { readJson } from '../text/read-json.js';
import { writeJsonUpTo } from '../text/write-json.js';

interface Kept extends UnchargedAnswer {
  digest: string;
}

/** Hashes the input's JSON, which may contain files. */
async function digestOf(input: unknown, timeSlicer: TimeSlicer): Promise<string> {
  const hash = createHash('sha256');
  const pieces = jsonPieces(input);
  await timeSlicer.run((until) => {
    do {
      const { done, value } = pieces.next();
      if (done === true) return true;
      hash.update(value);
    } while (performance.now() < until);
    return false;
  });
  return hash.digest('base64url');
}

/** Where answers are stored and found again. */
export interface UnchargedAnswersOptions {
  /** What an earlier request with the key has stored. */
  left: Buffer | null;
  timeSlicer: TimeSlicer;
  /** Longer answers are not stored. */
  maxBytes: number;
  /** Stores the answers for a retry; null: they are too long, and none are found. @throws ApiError conflict */
  write(made: Buffer | null): Promise<void>;
}

export function createUnchargedAnswers({
  left,
  timeSlicer,
  maxBytes,
  write,
}: UnchargedAnswersOptions): UnchargedAnswers {
  let unread = left;
  return {
    async take(input) {
      if (unread === null) return null;
      const earlier = (await readJson(unread, timeSlicer)) as Kept;
      const digest = await digestOf(input, timeSlicer);
      // Another field of the document may have taken it meanwhile.
      if (unread === null || earlier.digest !== digest) return null;
      const { operationId, value } = earlier;
      unread = null;
      return { operationId, value };
    },
    async keep(input, { operationId, value }) {
      const kept: Kept = { digest: await digestOf(input, timeSlicer), operationId, value };
      await write(await writeJsonUpTo(kept, { timeSlicer, maxBytes }));
    },
  };
}
