import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, mostly because they wait for time limits of the product or for processes to start. Longest first. */
const SLOW = [
  'v1/trust-matrix',
  'flows/fair-sharing',
  'flows/database-away',
  'flows/idempotency-crashes',
  'flows/document-texts',
  'flows/responses-crashes',
  'flows/people-vouchers',
  'flows/kafka',
  'flows/process',
  'flows/chat-cut',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = SLOW.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? SLOW.length : place;
};

/** Starts slow files first, so that none of them runs alone at the end of a run. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
