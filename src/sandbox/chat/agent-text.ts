import { withoutEnding } from '../../text/characters.js';
import { shortened } from '../../text/titles.js';
import type { ToolQuestion } from '../../providers/index.js';
import { splitUntrusted } from './untrusted.js';

/** The question of a user, as the rules of tools read it. */
export type Question = Pick<ToolQuestion, 'text' | 'wanted' | 'material' | 'topic' | 'url'>;

const URL_IN_TEXT = /https?:\/\/[^\s<>"')\]]+/;
/** The maximum of the user's own characters that are read, without attached documents. */
const MAX_WORDS = 20_000;
const MAX_TOPIC = 80;
const POLITE = /^(please|can you|could you|would you|i want you to|i'd like you to|help me)\s+/i;
const ORDER =
  /^(?:(?:write|draft|compose|prepare|make|create|generate|draw|paint|plan|search|look up|find(?: out)?|research|read|summari[sz]e|review|announce|show|give|tell)\b\s*(?:me|us)?\s*)/i;
/** The form that is wanted, before its topic: `a short blog post about`, `the web for`. */
const FORM =
  /^(?:(?:a|an|the|some|our|new|short|long|brief|bar|line|pie|area|scatter|blog|briefing|social media)\s+)*(?:post|posts|article|paper|report|document|briefing|chart|graph|plot|picture|image|illustration|logo|poem|essay|e-?mail|launch|plan|web|internet|news)\s+(?:about|on|of|for|with|from)\s+/i;

/** Pictures and documents that the user attaches: `the attached document`, `this picture`. */
const GIVEN =
  /\b(?:attached|enclosed|uploaded|given|this|that|these|those|my|above)\s+(?:\w+\s+)?(?:pictures?|photos?|photographs?|images?|screenshots?|drawings?|documents?|reports?|pdf|csv|papers?|memos?|files?|invoices?|minutes)\b/gi;

const line = (text: string): string => text.replace(/\s+/g, ' ').trim();

export function questionOf(userText: string): Question {
  const { parts, rest } = splitUntrusted(userText);
  const text = rest
    .slice(0, MAX_WORDS)
    .replace(/\[Attached image: [^\]]{0,2100}\]/g, '')
    .trim();
  const attached = parts.map((part) => part.text);
  const found = URL_IN_TEXT.exec(text)?.[0];
  const url = found === undefined ? null : withoutEnding(found, '.,;!?');
  return {
    text,
    wanted: text.replace(GIVEN, ' '),
    material: [...attached, text].join('\n'),
    topic: topicOf(text),
    url,
  };
}

/** The topic: the text without its polite beginning, its verb, and everything after the first clause. `line` has single blanks. */
function topicOf(text: string): string {
  const words = line(text.replace(URL_IN_TEXT, ' ')).replace(POLITE, '');
  const [head = words] = words.split(/(?<=\p{L}{2})[:;.?!](?:\s|$)|,\s+(?:with|and|in|as)\s/u);
  const subject = head
    .replace(ORDER, '')
    .replace(FORM, '')
    .replace(/^(?:with|about|on|of|for)\s+/i, '')
    .replace(/^(?:the|a|an)\s+/i, '')
    .replace(/ with (?:an? )?(?:pictures?|images?|photos?|illustrations?|charts?)\b[^]*/i, '');
  const plain = subject.replace(/ (?:by|until|before|within|in) (?:the )?\d[^]*/i, '');
  const first = plain
    .replace(/ (?:as|into) (?:a|an) (?:pdf|csv|markdown|document|file|report)\b[^]*/i, '')
    .trim();
  return shortened(first === '' ? words : first, MAX_TOPIC);
}
