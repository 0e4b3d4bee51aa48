/** What a caller takes of its job before that is whole. */
export interface LiveOptions {
  /** Pictures that are shown before each whole one, at most. */
  partials?: number;
  /** How sure the model is of each token that it hears. */
  logprobs?: boolean;
}

/** How sure a model is of a token that it heard, in the words of the convention. */
export interface Logprob {
  token?: string;
  logprob?: number;
  bytes?: number[];
}

/** What is heard of a recording before all of it: more of its text, or a turn of a speaker. */
export type TranscriptPart =
  | { delta: string; logprobs?: Logprob[] }
  | { segment: { start: number; end: number; text: string; speaker: string | null } };

/** Parts one after the other are parts too. */
export const encodeTranscriptPart = (part: TranscriptPart): Buffer =>
  Buffer.from(`${JSON.stringify(part)}\n`, 'utf8');

/** The parts that bytes of {@link encodeTranscriptPart} hold. */
export function decodeTranscriptParts(bytes: Buffer): TranscriptPart[] {
  const lines = bytes.toString('utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as TranscriptPart);
}

/** A text in pieces of a word each, with the space behind it. */
export const wordsOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\s)(?=\S)/));
