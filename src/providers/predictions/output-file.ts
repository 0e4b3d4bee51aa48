import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { isFields } from './api-client.js';

/** Names under which models return their file; checked first, in this order. */
const NAMES = ['video', 'audio', 'image', 'images', 'audio_file', 'audio_url', 'output', 'url'];
const MAX_DEPTH = 4;

/** Finds the URL of the file in an output, wherever the model put it. @throws UpstreamError */
export function outputAddress(output: unknown): string {
  const found = search(output, 0);
  if (found === null) throw brokenAnswer('no file');
  return found;
}

function search(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return /^(https?:|data:)/.test(value) ? value : null;
  if (depth > MAX_DEPTH) return null;
  const values = Array.isArray(value)
    ? (value as unknown[])
    : isFields(value)
      ? [...NAMES.map((name) => value[name]), ...Object.values(value)]
      : [];
  for (const item of values) {
    const found = search(item, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
