/** Scripts whose letters the bundled font has. */
const DRAWN =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}\p{Script=Arabic}]/u;
/** Punctuation, digits and symbols. Code points above `LAST_COMMON` are pictographs and the punctuation of other scripts. */
const COMMON = /[\p{Script=Common}\p{Script=Inherited}]/u;
const LAST_COMMON = 0x2e7f;
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'Japanese'],
  [/\p{Script=Hangul}/u, 'Korean'],
  [/\p{Script=Han}/u, 'Chinese'],
  [/\p{Script=Devanagari}/u, 'Devanagari'],
  [/\p{Script=Bengali}/u, 'Bengali'],
  [/\p{Script=Tamil}/u, 'Tamil'],
  [/\p{Script=Telugu}/u, 'Telugu'],
  [/\p{Script=Thai}/u, 'Thai'],
];

function isDrawn(character: string): boolean {
  return DRAWN.test(character) || (COMMON.test(character) && (character.codePointAt(0) ?? 0) <= LAST_COMMON);
}

/**
 * A text as the bundled font can write it: letters that it lacks are named by their script (`[Japanese]`), pictographs left out, so that
 * a label never has boxes.
 */
export function labelText(text: string): string {
  const runs: { drawn: boolean; text: string }[] = [];
  for (const character of text.normalize('NFC')) {
    const drawn = isDrawn(character);
    const last = runs.at(-1);
    if (last?.drawn === drawn) last.text += character;
    else runs.push({ drawn, text: character });
  }
  return runs
    .map((run) => (run.drawn ? run.text : nameOf(run.text)))
    .join('')
    .replace(/(\[\p{L}+\])(?:\s*\1)+/gu, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

function nameOf(text: string): string {
  if (!/\p{L}/u.test(text)) return ' ';
  return ` [${NAMES.find(([script]) => script.test(text))?.[1] ?? 'another script'}] `;
}
