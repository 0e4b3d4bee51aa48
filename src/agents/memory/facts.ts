import { firstCharacters } from '../../characters.js';

/** Sentences in which people tell about themselves, what they like, need or want kept: in English, and in other languages by who speaks. */
const TELLING = [
  /\b(?:i|we)(?:'m| am|'re| are| was| were| have| had|'ve| use| used| like| love| prefer| hate| dislike| need| want| work| live| own| run| study| speak| play| eat| avoid| drive| plan| always| never| usually| moved| started| bought| decided)\b/i,
  /\b(?:my|our)\s+[\p{L}\p{N}' -]{1,60}?\s+(?:is|are|was|were|has|have|uses?|runs?|lives?|works?|needs?|likes?|prefers?)\b/iu,
  /\bcall me\b/i,
  /\b(?:remember|note|keep in mind|don't forget|do not forget|for the record|from now on)\b/i,
  // German, French, Spanish, Italian.
  /(?<![\p{L}\p{N}])(?:ich|wir|je|j'\p{L}+|nous|yo|nosotr[oa]s|me llamo|me gustan?|mi chiamo|mi piace)(?![\p{L}\p{N}])/iu,
  /^(?:(?:mein|unser)e?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|il mio|la mia|soy|estoy|vivo|tengo|trabajo|abito)\s/iu,
  // Chinese and Japanese, where who speaks comes first.
  /(?:^|[，、,\s])(?:我|私|僕|俺)/u,
];
const MIN_LENGTH = 4;
const MAX_LENGTH = 500;
const MAX_FACTS = 50;
/** Where a sentence ends: with a line, too, for lists have no full stops. */
const ENDS = /[\n;；]|(?<=[.!?])\s|(?<=[。！？])/u;

/** What a message tells about its writer: sentences of at most 500 characters, no questions, at most fifty. */
export function factsIn(text: string): string[] {
  const sentences = text
    .split(ENDS)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence.length >= MIN_LENGTH && !/[?？]$/.test(sentence));
  const told = sentences.filter((sentence) => {
    // As telephones and word processors write it.
    const plain = sentence.replaceAll('’', "'");
    return TELLING.some((pattern) => pattern.test(plain));
  });
  return [...new Set(told.map((sentence) => firstCharacters(sentence, MAX_LENGTH)))].slice(0, MAX_FACTS);
}
