import { describe, expect, it } from 'vitest';
import { toSrt, toText, toVtt } from '../../src/generation/stt/subtitles.js';

const cue = (start: number, end: number, text: string, speaker: string | null = null) => ({
  start,
  end,
  text,
  speaker,
  words: null,
});

describe('subtitles', () => {
  it('as SubRip are numbered cues with commas in their times', () => {
    expect(toSrt([cue(0, 1.5, 'Hello.'), cue(3661.0304, 3662, 'Good  bye\n--> now')])).toBe(
      '1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n2\n01:01:01,030 --> 01:01:02,000\nGood bye -> now\n\n',
    );
  });

  it('as WebVTT have the head line, points in their times, and escape what means something', () => {
    expect(toVtt([cue(0.0004, 59.9996, 'a < b & c', 'SPEAKER_00')])).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:01:00.000\n<v SPEAKER_00>a &lt; b &amp; c\n\n',
    );
  });

  it('of nothing are an empty file, for WebVTT its head', () => {
    expect([toSrt([]), toVtt([]), toText('')]).toEqual(['', 'WEBVTT\n\n', '']);
    expect(toSrt([cue(0, 1, '  ')])).toBe('');
  });

  it('never go back in time and last at least a moment', () => {
    expect(toSrt([cue(2, 2, 'a'), cue(1, 1.5, 'b')])).toBe(
      '1\n00:00:02,000 --> 00:00:02,001\na\n\n2\n00:00:02,000 --> 00:00:02,001\nb\n\n',
    );
  });

  it('name their speaker, and are cut between words where a cue is too long to be read', () => {
    const words = Array.from({ length: 30 }, (_, at) => ({
      word: `word${at}`,
      start: at / 2,
      end: at / 2 + 0.4,
    }));
    const text = words.map(({ word }) => word).join(' ');
    const srt = toSrt([{ start: 0, end: 15, text, speaker: 'SPEAKER_01', words }]);
    const cues = srt.trim().split('\n\n');
    expect(cues.length).toBeGreaterThan(2);
    for (const lines of cues) expect(lines.split('\n')[2]?.length).toBeLessThan(100);
    expect(cues.map((lines) => lines.split('\n')[2]?.replace('SPEAKER_01: ', '')).join(' ')).toBe(text);
  });

  it('keep the signs of a cut text, whose words an upstream tells without them, and invent no spaces', () => {
    const timed = (words: string[]) => words.map((word, at) => ({ word, start: at, end: at + 0.9 }));
    const text = '“Well, well,” said Anna: is it 3.5 km, or more? Nobody knew.';
    const words = timed([
      'well',
      'well',
      'said',
      'anna',
      'is',
      'it',
      '3.5',
      'km',
      'or',
      'more',
      'nobody',
      'knew',
    ]);
    const lines = (given: Parameters<typeof toSrt>[0][number]) =>
      toSrt([given])
        .split(/\d+\n[\d:,> -]+\n/)
        .slice(1);
    const cues = lines({ start: 0, end: 12, text, speaker: null, words });
    expect(cues.length).toBeGreaterThan(1);
    expect(cues.map((line) => line.trim()).join(' ')).toBe(text);
    const kanji = '今日は良い天気ですね散歩に行きましょう';
    const parts = ['今日', 'は', '良い', '天気', 'です', 'ね', '散歩', 'に', '行きましょう'];
    expect(
      lines({ start: 0, end: 9, text: kanji, speaker: null, words: timed(parts) })
        .join('')
        .replace(/\n/g, ''),
    ).toBe(kanji);
  });

  it('tell all that was said, whatever part of it has words with times', () => {
    const text = 'alpha one two three four five six seven eight nine ten eleven twelve thirteen.';
    const segment = { start: 0, end: 8, text, speaker: null };
    const word = (said: string, start: number, end = start + 0.4) => ({ word: said, start, end });
    const whole = `1\n00:00:00,000 --> 00:00:08,000\n${text}\n\n`;
    for (const words of [
      [word('alpha', 0), word('zzz', 0.5)],
      [word('zzz', 0), word('yyy', 0.5)],
      [word('', 0), word('alpha', 1)],
      [word('thirteen', 0), word('twelve', 1)],
    ])
      expect(toSrt([{ ...segment, words }])).toBe(whole);
    const told = [word('one', 1), word('five', 3), word('six', 4), word('9', 5), word('twelve', 7)];
    expect(toSrt([{ ...segment, end: 16, words: told }])).toBe(
      [
        '1\n00:00:00,000 --> 00:00:07,000\nalpha one two three four five six seven eight nine ten eleven\n\n',
        '2\n00:00:07,000 --> 00:00:16,000\ntwelve thirteen.\n\n',
      ].join(''),
    );
  });
});
