/** Sentences in which people tell about themselves, what they like, need or want kept. */
const TELLING = [
  /\b(?:i|we)(?:'m| am|'re| are| was| were| have| had|'ve| use| used| like| love| prefer| hate| dislike| need| want| work| live| own| run| study| speak| play| eat| avoid| drive| plan| always| never| usually| moved| started| bought| decided)\b/i,
  /\b(?:my|our)\s+[\p{L}\p{N}' -]{1,60}?\s+(?:is|are|was|were|has|have|uses?|runs?|lives?|works?|needs?|likes?|prefers?)\b/iu,
  /\bcall me\b/i,
  /\b(?:remember|note|keep in mind|don't forget|do not forget|for the record)\b/i,
];
const MAX_LENGTH = 500;
const MAX_FACTS = 10;

/** What a message tells about its writer: whole sentences, no questions, at most ten. */
export function factsIn(text: string): string[] {
  const sentences = text
    .replace(/\s+/g, ' ')
    .split(/(?<=[.!?])\s+|\s*[\n;]\s*/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length >= 5 && sentence.length <= MAX_LENGTH && !sentence.endsWith('?'));
  const told = sentences.filter((sentence) => TELLING.some((pattern) => pattern.test(sentence)));
  return [...new Set(told)].slice(0, MAX_FACTS);
}
