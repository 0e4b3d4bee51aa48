import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openSync } from 'fontkit';
import { WorkRefusal } from './work-refusal.js';

const FONTS = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');

/** A file of an embedded TrueType font: the standard ones of PDF know no Greek, Cyrillic or much else. */
export const REGULAR = join(FONTS, 'DejaVuSans.ttf');
/** The file for headings. */
export const BOLD = join(FONTS, 'DejaVuSans-Bold.ttf');
/** The file for code. */
export const MONO = join(FONTS, 'DejaVuSansMono.ttf');

/** Characters that show nothing, whether a font has them or not: controls, joiners, variation selectors. */
const INVISIBLE = /^[\p{Cc}\p{Default_Ignorable_Code_Point}]$/u;
const MAX_NAMED = 20;

const read = new Map<string, ReadonlySet<number>>();

function mappedIn(font: string): ReadonlySet<number> {
  const known = read.get(font) ?? new Set(openSync(font).characterSet);
  read.set(font, known);
  return known;
}

/** The fonts of pictures: if the first lacks a glyph, another font supplies it (imaging/fonts.ts). */
export function pictureFonts(): string[] {
  const files = readdirSync(FONTS).filter((name) => name.endsWith('.ttf'));
  return [REGULAR, ...files.map((name) => join(FONTS, name)).filter((font) => font !== REGULAR)];
}

/** The characters of a text, each once, that none of the fonts has a glyph for. */
export function unsupportedCharacters(fonts: readonly string[], text: string): string[] {
  let left = [...new Set(text)].filter((character) => !INVISIBLE.test(character));
  for (const font of fonts) {
    if (left.length === 0) break;
    const mapped = mappedIn(font);
    left = left.filter((character) => !mapped.has(character.codePointAt(0) ?? 0));
  }
  return left;
}

/** @throws WorkRefusal where there are some: what would come out as boxes is worth nothing */
export function refuseUnsupportedCharacters(characters: Iterable<string>): void {
  const lacked = [...characters];
  if (lacked.length === 0) return;
  const named = lacked.slice(0, MAX_NAMED).join(' ') + (lacked.length > MAX_NAMED ? ' …' : '');
  throw new WorkRefusal(
    `The font has no glyphs for some of these characters: ${named}. Leave them out, or use markdown or another format`,
  );
}
