import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, mostly because they wait for time limits of the product or for processes to start. Longest first. */
const SLOW = [
  'rest/knowledge-hostile',
  'browser/dashboard-overview',
  'flows/process',
  'browser/client',
  'cli/cli',
  'browser/pages',
  'v1/trust-matrix',
  'flows/database-away',
  'flows/kafka',
  'browser/dashboard-agents',
  'database/embedded',
  'flows/idempotency-crashes',
  'browser/dashboard-views',
  'flows/dead-letters',
  'flows/chat-cut',
  'flows/usage-summary',
  'flows/fair-sharing',
  'flows/document-texts',
  'flows/responses-crashes',
  'flows/people-vouchers',
  'rest/chat-prompts',
  'browser/dashboard',
  'browser/dashboard-jobs',
  'flows/secrets',
  'flows/background-upstreams',
  'video/video',
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
