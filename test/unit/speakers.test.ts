import { expect, test } from 'vitest';
import { turnsOf } from '../../src/sandbox/listen/speakers.js';

/** A pitch each 0.04 s of what somebody says, and a pause before the next. */
function speakersOf(turns: readonly (readonly number[])[]): number[] {
  const pitches: (number | null)[] = [];
  const spans = turns.map((turn) => {
    const start = pitches.length * 0.04;
    pitches.push(...turn);
    const end = pitches.length * 0.04;
    pitches.push(...Array.from({ length: 10 }, () => null));
    return { start, end };
  });
  const seconds = pitches.length * 0.04;
  return turnsOf({ levels: [], pitches, seconds }, spans).map(({ speaker }) => speaker);
}

const high = Array.from({ length: 30 }, (_, at) => 180 + (at % 5));
const low = Array.from({ length: 30 }, (_, at) => 76 + (at % 3));

test('a word of few sounds is of the voice that most of them are like, and makes no speaker of its own', () => {
  expect(speakersOf([high, [129, 80, 457, 86], low, high])).toEqual([0, 1, 1, 0]);
});

test('one who says nothing but a word is a speaker too where no other sounds like it', () => {
  expect(speakersOf([low, [182, 181, 178, 184], low])).toEqual([0, 1, 0]);
});
