import { escapeXml } from '../draw/image-art.js';
import { labelText } from '../draw/label-text.js';

const MAX_LINE = 60;

/** What the sandbox's optimizer adds to a prompt. */
export function optimizePrompt(prompt: string): string {
  return `${prompt.trim()}, cinematic light, slow camera, rich detail`;
}

/** A strip for the bottom of a video that says what this is, so that nobody takes it for a model's work. */
export function drawCaption({ width, prompt, details }: { width: number; prompt: string; details: string }): {
  svg: string;
  size: { width: number; height: number };
} {
  const letter = width / 44;
  const height = Math.round(letter * 1.5) * 2;
  const line = labelText(prompt);
  const shown = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line;
  const text = (content: string, y: number, scale: number) =>
    `<text x="${letter}" y="${y}" font-family="DejaVu Sans" font-size="${letter * scale}" fill="#fff">${escapeXml(content)}</text>`;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="${width}" height="${height}" fill="#10131a"/>`,
    text(`Penstock sandbox · ${details}`, letter * 1.15, 0.72),
    text(shown, letter * 2.45, 1),
    '</svg>',
  ].join('');
  return { svg, size: { width, height } };
}
