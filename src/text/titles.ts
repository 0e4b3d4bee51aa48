import { withoutEnding } from './characters.js';

const line = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The first words of a text, with at most this many characters. */
export function shortened(text: string, length: number): string {
  const points = [...line(text)];
  if (points.length <= length) return points.join('');
  const cut = points.slice(0, length).join('');
  return `${withoutEnding(cut.slice(0, Math.max(cut.lastIndexOf(' '), length / 2)), ' ,;:.')}…`;
}

/** Makes the first letter a capital. */
export const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
