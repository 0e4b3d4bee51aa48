import { expect, test } from 'vitest';
import { baseOf, partsOf, type Step } from '../../dashboard/data/waterfall.js';

const at = (seconds: number): string => new Date(Date.UTC(2026, 2, 1, 12, 0, seconds)).toISOString();

let steps = 0;
const step = (stepType: Step['stepType'], seconds: number, more: Partial<Step> = {}): Step => ({
  stepNumber: ++steps,
  stepType,
  content: null,
  toolName: null,
  toolInput: null,
  toolOutput: null,
  createdAt: at(seconds),
  runTokens: 0,
  runCredits: 0,
  ...more,
});

const running = { createdAt: at(0), completedAt: null, status: 'running' } as const;

/** Name, length in seconds (null: it goes on), tokens, credits, fault. */
const told = (run: Parameters<typeof partsOf>[0], all: Step[]): unknown[] =>
  partsOf(run, all).map(({ name, from, to, tokens, credits, fault }) => [
    name,
    to === null ? null : (to - from) / 1000,
    tokens,
    credits,
    fault,
  ]);

test('a tool lasts from its call to its result, and what came with the call was used by the model', () => {
  const all = [
    step('tool_call', 2, { toolName: 'web_fetch', runTokens: 700, runCredits: 1 }),
    step('tool_result', 5, {
      toolName: 'web_fetch',
      toolOutput: { url: 'x' },
      runTokens: 700,
      runCredits: 4,
    }),
    step('thinking', 6, { content: 'Hm', runTokens: 900, runCredits: 5 }),
    step('tool_call', 6, { toolName: 'web_fetch', runTokens: 900, runCredits: 5 }),
    step('tool_result', 7, {
      toolName: 'web_fetch',
      toolOutput: { error: 'No' },
      runTokens: 900,
      runCredits: 5,
    }),
    step('response', 9, { content: 'Done', runTokens: 1000, runCredits: 6 }),
  ];
  expect(told({ ...running, completedAt: at(9), status: 'completed' }, all)).toEqual([
    ['Model', 2, 700, 1, null],
    ['web_fetch', 3, 0, 3, null],
    ['Model', 1, 200, 1, null],
    ['web_fetch', 1, 0, 0, 'No'],
    ['Answer', 2, 100, 1, null],
  ]);
  expect(baseOf({ creditsUsed: 8 }, all)).toBe(2);
});

test('what goes on has no end: a model before its first step, a tool without its result', () => {
  expect(told(running, [])).toEqual([['Model', null, 0, 0, null]]);
  const call = step('tool_call', 2, { toolName: 'web_search', runTokens: 10, runCredits: 1 });
  expect(told(running, [call])).toEqual([
    ['Model', 2, 10, 1, null],
    ['web_search', null, 0, 0, null],
  ]);
  const result = step('tool_result', 3, { toolName: 'web_search', toolOutput: { error: 'a', more: 1 } });
  expect(told(running, [call, result]).at(-1)).toEqual(['Model', null, 0, 0, null]);
  expect(told(running, [call, result])[1]).toMatchObject({ 4: null });
});

test('a tool that was cut off ends with the run, and a failure is told as one', () => {
  const call = step('tool_call', 2, { toolName: 'web_search', runCredits: 1 });
  const end = { ...running, completedAt: at(4) };
  expect(told({ ...end, status: 'cancelled' }, [call]).at(-1)).toEqual(['web_search', 2, 0, 0, null]);
  const error = step('error', 4, { content: 'Agent run timed out', runCredits: 3 });
  expect(told({ ...end, status: 'failed' }, [call, error]).at(-1)).toEqual([
    'Failed',
    2,
    0,
    2,
    'Agent run timed out',
  ]);
});
