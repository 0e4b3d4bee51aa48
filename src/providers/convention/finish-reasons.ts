/** Why a model stopped, in the convention's words (decisions 6, "Chat"). */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** What makers call each reason, without case and punctuation. */
const WORDS: Readonly<Record<FinishReason | 'failed' | 'open', string>> = {
  stop: 'stop endturn stopsequence eos eostoken complete completed done finished pauseturn reasonstop',
  length:
    'length maxtokens maxoutputtokens maxnewtokens maxcompletiontokens maxlength modellength outputlength tokenlimit errorlimit ' +
    'limit maxtokensexceeded modelcontextwindowexceeded contextlength contextlengthexceeded contextwindowexceeded maxcontext ' +
    'maxcontextlength reasonmaxlen reasonmaxcontext incomplete truncated',
  tool_calls: 'toolcalls toolcall tooluse functioncall functioncalls reasontoolcalls',
  content_filter:
    'contentfilter contentfiltered contentblocked contentpolicyviolation filter filtered safety recitation prohibitedcontent ' +
    'blocklist blocked spii refusal refused guardrail guardrails guardrailintervened errortoxic sensitive moderation moderated ' +
    'imagesafety imageprohibitedcontent imagerecitation functioncallfilter',
  failed: 'error timeout networkerror abort aborted cancelled canceled usercancel insufficientsystemresource',
  open: 'null none notfinished unfinished finishreasonunspecified',
};

const MEANINGS: ReadonlyMap<string, FinishReason | 'failed' | 'open'> = new Map(
  Object.entries(WORDS).flatMap(([meaning, words]) =>
    words.split(' ').map((word) => [word, meaning as keyof typeof WORDS] as const),
  ),
);

/** Longer ones are no words. */
const MAX_WORD = 200;

function meaningOf(reason: unknown): FinishReason | 'failed' | 'open' {
  if (reason == null) return 'open';
  // Nearly always the convention's own word.
  if (reason === 'stop' || reason === 'tool_calls') return reason;
  if (typeof reason !== 'string') return 'stop';
  // Some say more behind their word: `content_filter: PROHIBITED_CONTENT`.
  for (const said of [reason.slice(0, MAX_WORD), reason.slice(0, MAX_WORD).split(':', 1)[0] ?? '']) {
    const word = said.toLowerCase().replace(/[^a-z]/g, '');
    const meaning = word === '' ? 'open' : MEANINGS.get(word);
    if (meaning !== undefined) return meaning;
  }
  return 'stop';
}

/** Whether a choice says that it ends: some upstreams write an empty string, or the word null, where the convention has null. */
export function finishes(reason: unknown): boolean {
  return meaningOf(reason) !== 'open';
}

/** Whether the answer was given up instead of finished: nothing of it can be relied on. */
export function isFailure(reason: unknown): boolean {
  return meaningOf(reason) === 'failed';
}

/**
 * A maker's word for why its model stopped, as the convention has it; one that nobody knows is `stop`.
 * @param calls whether the answer asks for tools: its end is then that, unless it was cut off
 */
export function finishReason(reason: unknown, calls: boolean): FinishReason {
  const meaning = meaningOf(reason);
  const told = meaning === 'failed' || meaning === 'open' ? 'stop' : meaning;
  return told === 'stop' && calls ? 'tool_calls' : told;
}
