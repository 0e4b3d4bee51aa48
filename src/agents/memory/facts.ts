import { firstCharacters } from '../../text/characters.js';

/** Sentences in which people say something about themselves: what they like, need or want remembered. */
const TELLING = [
  /\b(?:i|we)(?:'m| am|'re| are| was| were| have| had|'ve| use| used| like| love| prefer| hate| dislike| need| want| work| live| own| run| study| speak| play| eat| avoid| drive| plan| always| never| usually| moved| started| bought| decided)\b/i,
  /\b(?:my|our) [\p{L}\p{N}' -]{1,60}? (?:is|are|was|were|has|have|uses?|runs?|lives?|works?|needs?|likes?|prefers?)\b/iu,
  /\bcall me\b/i,
  /\b(?:remember|note|keep in mind|don't forget|do not forget|for the record|from now on)\b/i,
  // German, French, Spanish, Italian.
  /(?<![\p{L}\p{N}])(?:ich|wir|je|j'\p{L}+|nous|yo|nosotr[oa]s|me llamo|me gustan?|mi chiamo|mi piace)(?![\p{L}\p{N}])/iu,
  /^(?:(?:mein|unser)e?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|il mio|la mia|soy|estoy|vivo|tengo|trabajo|abito)\s/iu,
  // Chinese and Japanese, where who speaks comes first.
  /(?:^|[，、,\s])(?:我|私|僕|俺)/u,
];
/** Other beginnings of English messages that state no fact: tasks, questions, greetings. */
const ASKING =
  /^(?:(?:please|now|then|and|also|just|kindly|so) )*(?:add|analy[sz]e|answer|build|calculate|call|change|chart|check|compare|compute|continue|convert|count|create|describe|design|do|draft|draw|edit|explain|fetch|find|fix|generate|get|give|go|help|improve|let|list|look|make|open|paint|plan|plot|put|read|repeat|rewrite|run|say|search|send|show|sketch|sum|summari[sz]e|tell|think|translate|try|use|write|what|who|whose|which|when|where|why|how|can|could|would|will|should|may|shall|is|are|does|did|hi|hello|hey|thanks|thank|ok|okay|yes|no|good|great)\b/i;
const QUESTION = /[?？؟]["'”’»)\]]*$/u;
/** An opening word, not a directive or a piece of code. */
const WORDS = /^[^\p{L}\p{N}@{}<>#]*[\p{L}\p{N}]/u;
const MIN_LENGTH = 4;
const MAX_LENGTH = 500;
const MAX_FACTS = 50;
/** A longer message is a text to work on: only sentences about its writer are kept. */
const MAX_MESSAGE = 1000;

/**
 * What a message tells, in sentences or lines: at most fifty, first those in which people tell of themselves, then what of a short message
 * is neither a question nor (in English) a task. Of other languages a task cannot be told from a statement: it is kept.
 */
export function factsIn(text: string): string[] {
  const sentences = text
    .split(/(?<=[.!?])\s+|(?<=[。！？])|[\n\r;；]/u)
    .map((sentence) => firstCharacters(sentence.replace(/\s+/g, ' ').trim(), MAX_LENGTH))
    .filter((sentence) => sentence.length >= MIN_LENGTH && WORDS.test(sentence) && !QUESTION.test(sentence));
  const tells = (sentence: string): boolean =>
    TELLING.some((pattern) => pattern.test(sentence.replaceAll('’', "'")));
  const others = text.length > MAX_MESSAGE ? [] : sentences.filter((sentence) => !ASKING.test(sentence));
  return [...new Set([...sentences.filter(tells), ...others])].slice(0, MAX_FACTS);
}
