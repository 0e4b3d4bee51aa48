const DECIDED = /\b(we chose|chose|decided|agreed|settled|approved|will use)\b/i;
const TASK = /\b(will|shall|has to|needs? to|must|by (?:monday|tuesday|wednesday|thursday|friday|\d))\b/i;
const OPEN = /\b(unclear|open|unknown|to be settled|undecided|tbd)\b|\?$/i;
/** The order itself is no part of the notes. */
const ORDER = /^(?:please\s+)?(?:write|make|create|draft|prepare|turn)\b/i;

/** Notes as minutes: each sentence under the heading that its words call for. Nothing is added to what was noted. */
export function minutesOf(notes: string): string {
  const sentences = notes
    .replace(/^\s*notes?\s*:\s*/i, '')
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '' && !ORDER.test(sentence));
  const sections: [string, string[]][] = [
    ['Decisions', []],
    ['Tasks', []],
    ['Open questions', []],
    ['Notes', []],
  ];
  for (const sentence of sentences) {
    const at = OPEN.test(sentence) ? 2 : DECIDED.test(sentence) ? 0 : TASK.test(sentence) ? 1 : 3;
    sections[at]?.[1].push(`- ${sentence}`);
  }
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([heading, lines]) => `## ${heading}\n\n${lines.join('\n')}`)
    .join('\n\n');
}
