import { withoutEnding } from './characters.js';

const line = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Whole words, at most so many characters. */
export function shortened(text: string, length: number): string {
  const points = [...line(text)];
  if (points.length <= length) return points.join('');
  const cut = points.slice(0, length).join('');
  return `${withoutEnding(cut.slice(0, Math.max(cut.lastIndexOf(' '), length / 2)), ' ,;:.')}…`;
}

/** The first letter large: a title. */
export const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
