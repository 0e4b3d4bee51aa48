import { createHash } from 'node:crypto';
import type { Turns } from '../collections/turns.js';
import type { MadeAnswer, MadeAnswers } from '../metering/call-context.js';
import { jsonPieces } from '../text/json-pieces.js';
import { writeJson } from '../text/write-json.js';

interface Kept extends MadeAnswer {
  digest: string;
}

/** Hashes the input's JSON, which may contain files. */
async function digestOf(input: unknown, turns: Turns): Promise<string> {
  const hash = createHash('sha256');
  const pieces = jsonPieces(input);
  await turns.run((until) => {
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
export interface MadeAnswersOptions {
  /** What an earlier request with the key has stored. */
  left: Buffer | null;
  turns: Turns;
  /** Stores the answers for a retry. @throws ApiError conflict */
  write(made: Buffer): Promise<void>;
}

export function createMadeAnswers({ left, turns, write }: MadeAnswersOptions): MadeAnswers {
  let earlier = left && (JSON.parse(left.toString()) as Kept);
  return {
    async take(input) {
      if (earlier === null) return null;
      const digest = await digestOf(input, turns);
      if (earlier?.digest !== digest) return null;
      const { operationId, value } = earlier;
      earlier = null;
      return { operationId, value };
    },
    async keep(input, { operationId, value }) {
      const kept: Kept = { digest: await digestOf(input, turns), operationId, value };
      const written = await writeJson(kept, turns);
      await write(typeof written === 'string' ? Buffer.from(written) : written);
    },
  };
}
