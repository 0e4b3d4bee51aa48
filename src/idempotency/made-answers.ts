import { createHash } from 'node:crypto';
import type { MadeAnswer, MadeAnswers } from '../metering/call-context.js';

interface Kept extends MadeAnswer {
  digest: string;
}

function digestOf(input: unknown): string {
  return createHash('sha256').update(JSON.stringify(input)).digest('base64url');
}

/**
 * @param left what an earlier request with the key had kept, as this wrote it
 * @param write puts it where a retry finds it. @throws ApiError conflict
 */
export function createMadeAnswers(left: Buffer | null, write: (made: Buffer) => Promise<void>): MadeAnswers {
  let earlier = left && (JSON.parse(left.toString()) as Kept);
  return {
    take(input) {
      if (earlier === null || earlier.digest !== digestOf(input)) return null;
      const { operationId, value } = earlier;
      earlier = null;
      return { operationId, value };
    },
    async keep(input, { operationId, value }) {
      const kept: Kept = { digest: digestOf(input), operationId, value };
      await write(Buffer.from(JSON.stringify(kept)));
    },
  };
}
