/** Letters that stand for themselves in the engine's alphabet after their accents are gone. */
const SPELLINGS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'th',
  þ: 'th',
  Þ: 'Th',
  ı: 'i',
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '«': '"',
  '»': '"',
  '–': ', ',
  '—': ', ',
  '…': '... ',
  '€': ' euros ',
  '£': ' pounds ',
  '¥': ' yen ',
  '°': ' degrees ',
  '©': ' copyright ',
  '×': ' times ',
  '÷': ' divided by ',
  '½': ' one half ',
  '¼': ' one quarter ',
};

/** Why the voice cannot say a text, for the caller; null where it can. */
export function unspeakable(text: string): string | null {
  const foreign = [...text].find(
    (character) => /\p{L}/u.test(character) && !/\p{Script=Latin}|\p{Script=Common}/u.test(character),
  );
  if (foreign !== undefined) return 'speaks text in Latin letters only';
  return /[A-Za-z0-9]/.test(toSpeakable(text)) ? null : 'finds nothing to say in this text';
}

/** The text in the engine's alphabet (ASCII): accents are dropped, what has no sound becomes a space. */
export function toSpeakable(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\x20-\x7e]/gu, (character) => SPELLINGS[character] ?? withoutAccents(character))
    .replace(/\s+/g, ' ')
    .trim();
}

function withoutAccents(character: string): string {
  const bare = character.normalize('NFKD').replace(/[^\x20-\x7e]/gu, '');
  return bare === '' ? ' ' : bare;
}

const LONGEST = 320;
/** Each piece starts the engine anew, which costs as much as two sentences: a long text has few, large ones. */
const MOST_PIECES = 12;

/** Sentences, a few together up to some 300 characters, more in long texts: progress moves by them. */
export function sentencesOf(text: string): string[] {
  const longest = Math.max(LONGEST, Math.ceil(text.length / MOST_PIECES));
  const pieces: string[] = [];
  // bounded: a run of anything else always ends in one of the signs, or with the text.
  for (const sentence of text.match(/[^.!?]+(?:[.!?]+["')\]]*\s*|$)|[.!?]+\s*/g) ?? []) {
    const last = pieces.at(-1);
    if (last !== undefined && last.length + sentence.length <= longest)
      pieces[pieces.length - 1] = last + sentence;
    else pieces.push(...cut(sentence));
  }
  return pieces.filter((piece) => /[A-Za-z0-9]/.test(piece));
}

/** A sentence that goes on and on is cut between words. */
function cut(sentence: string): string[] {
  const parts: string[] = [];
  let rest = sentence;
  while (rest.length > 2 * LONGEST) {
    const space = rest.lastIndexOf(' ', LONGEST);
    const at = space > 0 ? space + 1 : LONGEST;
    parts.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return [...parts, rest];
}
