import { describe, expect, it } from 'vitest';
import { faultOfPattern } from '../../scripts/check-patterns.mjs';

describe('the check of regular expressions', () => {
  it.each([
    ['\\/+$', ''],
    ['(a+)+$', ''],
    ['\\s+with x', ''],
    ['(\\s*)\\s+x', ''],
    ['^(\\s*)x?\\s+(.*)$', ''],
    ['<([a-z][a-z0-9-]*)[^<>]*?>', 'gi'],
    ['<meta[^>]+charset=', 'i'],
    ['!\\[([^\\]]*)\\]\\(', 'g'],
    ['\\[([^\\]]+)\\]\\(x\\)', 'g'],
    ['"(?:[^"]|"")*"', 'g'],
    ['(?:ab)[a-z]*!', ''],
  ])('finds /%s/%s', (source, flags) => {
    expect(faultOfPattern(source, flags)).toMatch(/quadratic|exponential/);
  });

  it.each([
    ['^\\/+', ''],
    ['\\s+', 'g'],
    ['<meta[^<>]+charset=', 'i'],
    ['^\\[\\d+\\] (.+)$', 'gm'],
    ['\\b(?:draw|illustrat\\w+)\\b', 'i'],
    ['[^\\s<>]{0,30}:', ''],
    ['\\s+x', 'y'],
    ['^[A-Za-z0-9+/]+$', ''],
  ])('passes /%s/%s', (source, flags) => {
    expect(faultOfPattern(source, flags)).toBeUndefined();
  });
});
