import { expect, it } from 'vitest';
import { Recording } from '../../src/idempotency/recording.js';
import { seededRandom } from '../support/wait.js';

const HEAD = { status: 200, headers: {}, lost: 'lost' };

async function textOf(body: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of body) {
    text += part;
    if (text.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return text;
}

it('whoever joins, and whenever, reads the whole answer in its order', async () => {
  const random = seededRandom(7);
  const recording = new Recording(HEAD, 8_000_000);
  const joined: Promise<string>[] = [];
  let written = '';
  for (let index = 0; index < 3000; index++) {
    const event = `${index}:${'é🙂x'.repeat(Math.floor(random() * 20))}\n`;
    expect(recording.write(event)).toBe(true);
    written += event;
    if (index % 100 === 0) joined.push(textOf(recording.join()!.body));
    if (index % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  recording.end();
  joined.push(textOf(recording.join()!.body));
  expect(new Set(await Promise.all(joined))).toEqual(new Set([written]));
  expect(recording.body()?.toString()).toBe(written);
});

it('an answer that outgrows its bound tells those that joined, and takes no others', async () => {
  const recording = new Recording(HEAD, 100);
  recording.write('x'.repeat(90));
  const joined = textOf(recording.join()!.body);
  await new Promise((resolve) => setImmediate(resolve));
  expect(recording.write('y'.repeat(20))).toBe(false);
  expect(await joined).toBe(`${'x'.repeat(90)}lost`);
  expect(recording.join()).toBeNull();
  expect(recording.body()).toBeNull();
});
