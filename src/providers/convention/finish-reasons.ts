/** Why a model stopped, in the convention's words (decisions 6, "Chat"). */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Providers' words for each reason, without case and punctuation. */
const WORDS: Readonly<Record<FinishReason | 'failed' | 'open', string>> = {
  stop:
    'stop endturn stopsequence eos eostoken eosfound stopstringfound complete completed done finish finished finishcomplete pauseturn ' +
    'reasonstop endid stopwords normal endoftext',
  length:
    'length klength maxtokens maxoutput maxoutputtokens maxnewtokens maxcompletiontokens maxpredictedtokensreached maxlength modellength ' +
    'outputlength outputtokenlimit tokenlimit tokenlimitreached exceededmaxtokens errorlimit limit maxtokensexceeded maxtokensreached ' +
    'modelcontextwindowexceeded contextlength contextlengthreached contextlengthexceeded contextwindowexceeded maxcontext ' +
    'maxcontextlength reasonmaxlen reasonmaxcontext incomplete truncated continuation timelimit reasontimelimit',
  tool_calls: 'toolcalls toolcall tooluse functioncall functioncalls reasontoolcalls',
  content_filter:
    'contentfilter contentfiltered contentblocked contentpolicy contentpolicyviolation policyviolation filter filtered safety ' +
    'safetyfilter recitation prohibitedcontent blocklist blocked promptblocked spii refusal refused guardrail guardrails ' +
    'guardrailintervened errortoxic sensitive moderation moderated moderationblocked modelarmor language riskcontrol imagesafety ' +
    'imageprohibitedcontent imagerecitation functioncallfilter malformedfunctioncall malformedtooluse malformedmodeloutput ' +
    'malformedresponse unexpectedtoolcall toomanytoolcalls missingthoughtsignature',
  failed:
    'error failed timeout networkerror abort aborted cancelled canceled expired usercancel userstopped modelunloaded ' +
    'insufficientsystemresource',
  open: 'null none notfinished knotfinished unfinished inprogress finishreasonunspecified unspecified',
};

const MEANINGS: ReadonlyMap<string, FinishReason | 'failed' | 'open'> = new Map(
  Object.entries(WORDS).flatMap(([meaning, words]) =>
    words.split(' ').map((word) => [word, meaning as keyof typeof WORDS] as const),
  ),
);

/** What makers put before each of their words: `FINISH_REASON_STOP`. */
const HEADS = /^(?:finish|stop|end)reason/;

/** Parts of words that mean a reason, for words that are in no list. */
const STEMS: readonly [FinishReason, RegExp][] = [
  [
    'content_filter',
    /safety|filter|policy|moderat|toxic|harmful|unsafe|censor|recitation|prohibited|violation|refus|sensitive|jailbreak/,
  ],
  ['length', /length|maxlen|maxtoken|maxoutput|maxgen|tokenlimit|outputlimit|truncat|toolong/],
];

/** A word without case and punctuation; undefined where nothing is known about it. */
function meaningOfWord(said: string): FinishReason | 'failed' | 'open' | undefined {
  const word = said.toLowerCase().replace(/[^a-z]/g, '');
  return word === '' ? 'open' : (MEANINGS.get(word) ?? MEANINGS.get(word.replace(HEADS, '')));
}

/** A longer text is not a reason. */
const MAX_WORD = 200;

function meaningOf(reason: unknown): FinishReason | 'failed' | 'open' {
  if (reason == null) return 'open';
  // It is nearly always the convention's own word.
  if (reason === 'stop' || reason === 'tool_calls') return reason;
  if (typeof reason === 'object') return meaningOf(wordIn(reason));
  if (typeof reason !== 'string') return 'stop';
  const said = reason.slice(0, MAX_WORD);
  // Some add text after the word (`content_filter: PROHIBITED_CONTENT`) or before it (`FinishReason.MAX_TOKENS`).
  for (const part of [said, said.split(':', 1)[0] ?? '', said.split('.').at(-1) ?? '']) {
    const meaning = meaningOfWord(part);
    if (meaning !== undefined) return meaning;
  }
  const word = said.toLowerCase().replace(/[^a-z]/g, '');
  return STEMS.find(([, stem]) => stem.test(word))?.[0] ?? 'stop';
}

/** The word in a reason that is an object: `{"type": "length", "length": 16}`. */
function wordIn(reason: object): unknown {
  const { type, reason: word } = reason as Record<string, unknown>;
  const said = type ?? word;
  return typeof said === 'string' ? said : 'stop';
}

/** Whether a choice has ended. Some upstreams write an empty string, or the word null, instead of null. */
export function finishes(reason: unknown): boolean {
  return meaningOf(reason) !== 'open';
}

/** Whether the answer was aborted and not finished, so that nothing of it is reliable. */
export function isFailure(reason: unknown): boolean {
  return meaningOf(reason) === 'failed';
}

/**
 * Converts a provider's finish reason to the convention's word; an unknown one becomes `stop`.
 * @param calls whether the answer asks for tools: its end is then that, unless it was cut off
 */
export function finishReason(reason: unknown, calls: boolean): FinishReason {
  const meaning = meaningOf(reason);
  const reported = meaning === 'failed' || meaning === 'open' ? 'stop' : meaning;
  return reported === 'stop' && calls ? 'tool_calls' : reported;
}
