import { createPalette, hueOf } from './image-palette.js';
import type { Palette } from './image-palette.js';
import { labelText } from './label-text.js';
import { createRandom } from '../random.js';
import type { Random } from '../random.js';

/** The input of one sandbox picture; each part changes it visibly. */
export interface ArtRequest {
  prompt: string;
  negativePrompt: string;
  style: 'vivid' | 'natural';
  seed: number;
  /** Index among the n pictures of a call. */
  index: number;
  width: number;
  height: number;
  /** Whether a strip says that the sandbox drew it. Default: true. */
  labelled?: boolean;
}

interface Canvas {
  width: number;
  height: number;
  random: Random;
  palette: Palette;
}

const round = (value: number) => Math.round(value * 10) / 10;

const XML_ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Characters that XML cannot hold become spaces. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, ' ')
    .replace(/[&<>"']/g, (character) => XML_ESCAPES[character] ?? '');
}

/** A smooth line across the picture, closed at its bottom. */
function ridge({ width, height, random }: Canvas, top: number, amplitude: number): string {
  const steps = 6 + random.int(5);
  let path = `M0 ${height} L0 ${round(top + (random.next() - 0.5) * amplitude)}`;
  for (let step = 1; step <= steps; step++) {
    const x = (width * step) / steps;
    const middle = x - width / steps / 2;
    const y = top + (random.next() - 0.5) * amplitude;
    path += ` Q${round(middle)} ${round(top + (random.next() - 0.5) * amplitude * 1.6)} ${round(x)} ${round(y)}`;
  }
  return `${path} L${width} ${height} Z`;
}

function landscape(canvas: Canvas): string {
  const { width, height, random, palette } = canvas;
  const sunX = width * (0.15 + random.next() * 0.7);
  const radius = Math.min(width, height) * (0.06 + random.next() * 0.1);
  const parts = [
    `<circle cx="${round(sunX)}" cy="${round(height * (0.15 + random.next() * 0.25))}" r="${round(radius)}" fill="${palette.light}"/>`,
  ];
  palette.shapes.forEach((colour, layer) => {
    const top = height * (0.42 + layer * 0.11);
    parts.push(`<path d="${ridge(canvas, top, height * 0.14)}" fill="${colour}" fill-opacity="0.92"/>`);
  });
  return parts.join('');
}

function orbits(canvas: Canvas): string {
  const { width, height, random, palette } = canvas;
  const parts: string[] = [];
  const centerX = width * (0.3 + random.next() * 0.4);
  const centerY = height * (0.3 + random.next() * 0.4);
  const unit = Math.min(width, height) / 16;
  for (let ring = 12; ring > 0; ring--) {
    const colour = random.pick(palette.shapes);
    parts.push(
      `<circle cx="${round(centerX + (random.next() - 0.5) * unit * 2)}" cy="${round(centerY + (random.next() - 0.5) * unit * 2)}" r="${round(unit * ring * 0.8)}" fill="${colour}" fill-opacity="${round(0.3 + random.next() * 0.5)}"/>`,
    );
  }
  parts.push(
    `<circle cx="${round(centerX)}" cy="${round(centerY)}" r="${round(unit * 0.9)}" fill="${palette.light}"/>`,
  );
  return parts.join('');
}

function facets(canvas: Canvas): string {
  const { width, height, random, palette } = canvas;
  const parts: string[] = [];
  const columns = 5 + random.int(4);
  const cell = width / columns;
  for (let y = 0; y * cell < height; y++) {
    for (let x = 0; x < columns; x++) {
      const [left, top, right, bottom] = [x * cell, y * cell, (x + 1) * cell, (y + 1) * cell].map(round);
      const corners =
        random.int(2) === 0
          ? [
              `${left},${top} ${right},${top} ${left},${bottom}`,
              `${right},${bottom} ${right},${top} ${left},${bottom}`,
            ]
          : [
              `${left},${top} ${right},${top} ${right},${bottom}`,
              `${left},${bottom} ${left},${top} ${right},${bottom}`,
            ];
      for (const points of corners)
        parts.push(
          `<polygon points="${points}" fill="${random.pick(palette.shapes)}" fill-opacity="${round(0.45 + random.next() * 0.5)}"/>`,
        );
    }
  }
  return parts.join('');
}

function sparks({ width, height, random, palette }: Canvas): string {
  const parts: string[] = [];
  for (let spark = 40 + random.int(60); spark > 0; spark--)
    parts.push(
      `<circle cx="${round(random.next() * width)}" cy="${round(random.next() * height)}" r="${round((0.5 + random.next() * 2.5) * (width / 512))}" fill="${palette.light}" fill-opacity="${round(0.2 + random.next() * 0.7)}"/>`,
    );
  return parts.join('');
}

/** A strip at the bottom that says what this is, so that nobody takes it for a model's work. */
function label({ width, height, palette }: Canvas, request: ArtRequest): string {
  const size = width / 26;
  const line = labelText(request.prompt);
  const shown = line.length > 42 ? `${line.slice(0, 41)}…` : line;
  const details = `${request.style} · seed ${request.seed}${request.index > 0 ? ` · ${request.index + 1}` : ''}`;
  const strip = size * 3;
  const text = (content: string, y: number, scale: number) =>
    `<text x="${round(size * 0.6)}" y="${round(y)}" font-family="DejaVu Sans" font-size="${round(size * scale)}" fill="#fff">${escapeXml(content)}</text>`;
  return [
    `<rect y="${round(height - strip)}" width="${width}" height="${round(strip)}" fill="${palette.ink}" fill-opacity="0.72"/>`,
    text(`Penstock sandbox · ${details}`, height - size * 1.85, 0.62),
    text(shown, height - size * 0.7, 0.95),
  ].join('');
}

const SCENES = [landscape, orbits, facets] as const;

/** The picture as SVG: the same for the same request, on every machine. */
export function drawArt(request: ArtRequest): string {
  const { prompt, negativePrompt, style, seed, index, width, height } = request;
  const random = createRandom(JSON.stringify([prompt, negativePrompt, style, seed, index]));
  const palette = createPalette(random, hueOf(prompt, negativePrompt), { style });
  const canvas = { width, height, random, palette };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<defs><linearGradient id="sky" x1="0" y1="0" x2="${round(random.next() * 0.6)}" y2="1"><stop offset="0" stop-color="${palette.sky[0]}"/><stop offset="1" stop-color="${palette.sky[1]}"/></linearGradient></defs>`,
    `<rect width="${width}" height="${height}" fill="url(#sky)"/>`,
    random.pick(SCENES)(canvas),
    sparks(canvas),
    request.labelled === false ? '' : label(canvas, request),
    '</svg>',
  ].join('');
}
