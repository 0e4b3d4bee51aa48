import { nextSlice } from '../collections/time-slicer.js';

/**
 * Counts tokens with the o200k vocabulary. Two hazards of the library are handled here: its merge step is quadratic in the length of a
 * piece (200,000 times one letter blocks for 15 s), so long runs are cut first; and its cache of merged pieces keeps the texts alive that
 * they were cut from, so it is emptied after every few megabytes.
 */

/** Longest run of one class of characters that is merged as one piece; longer ones are cut (a token or so off at each cut). */
const MAX_RUN = 128;
/**
 * Letters with marks of any script are one class: a run of nothing but marks is one piece of the vocabulary's pattern too.
 * So are line breaks and slashes behind signs.
 * bounded: of fixed lengths.
 */
const LONG_RUN = new RegExp(
  `[\\p{L}\\p{M}]{${MAX_RUN}}|[^\\s\\p{L}\\p{N}]{${MAX_RUN}}|[\\r\\n/]{${MAX_RUN}}|\\s{${MAX_RUN}}`,
  'gu',
);
/** Characters counted in one turn: one or two milliseconds of English, ten of Chinese. */
const SLICE = 10 * 1024;
/** What a text costs besides its characters, in characters. */
const PER_TEXT = 32;
/** How far before a slice's end a space is looked for: no word is longer. */
const NEAR = 1023;
/** Characters after which the library's cache is emptied. */
const CACHE_CHARACTERS = 4 * 1024 * 1024;
/** Texts up to this length are remembered: a conversation sends its history again with every turn. */
const MEMO_LENGTH = 8192;
const MEMO_SIZE = 512;

interface Encoding {
  /** Counts special tokens as the plain text that they are in a caller's message. */
  encode(text: string, options: { disallowedSpecial: Set<string> }): number[];
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
  decode(tokens: number[]): string;
  clearMergeCache(): void;
}

const PLAIN = { disallowedSpecial: new Set<string>() };

export interface Tokenizer {
  readonly loaded: boolean;
  /** Loads the vocabulary (about 0.2 s, once). Everything below needs it. */
  load(): Promise<void>;
  /** Tokens of a text, at once. For texts of unknown size use {@link countAll}. */
  count(text: string): number;
  /**
   * Tokens of several texts together, in slices that leave the event loop free. Stops as soon as `limit` is passed: the answer is then
   * some number above it.
   */
  countAll(texts: readonly string[], limit: number): Promise<number>;
  /** A text as the strings of its tokens; a character that spans several tokens makes one string of that many. */
  split(text: string): { text: string; tokens: number }[];
}

/** A text in pieces that end behind each long run. One look, as each match has a fixed length. */
function cutRuns(text: string): string[] {
  if (text.length < MAX_RUN) return [text];
  const parts: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    parts.push(text.slice(from, index + run.length));
    from = index + run.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Where to end a slice: before a space, so that no word is cut where it can be helped, and never inside a surrogate pair. */
function sliceEnd(text: string, from: number): number {
  const end = from + SLICE;
  if (end >= text.length) return text.length;
  // Only near the end: a search back through a text without spaces would go to its beginning, for every slice.
  const near = end - NEAR;
  const space = text.slice(near, end + 1).lastIndexOf(' ');
  if (space >= 0) return near + space;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code < 0xdc00 ? end - 1 : end;
}

class LazyTokenizer implements Tokenizer {
  private encoding: Encoding | null = null;
  private loading: Promise<void> | null = null;
  private readonly memo = new Map<string, number>();
  private counted = 0;
  /** Characters since the event loop had its turn, of all calls: many short texts one after the other are a long one. */
  private sinceTurn = 0;

  get loaded(): boolean {
    return this.encoding !== null;
  }

  load(): Promise<void> {
    this.loading ??= import('gpt-tokenizer/encoding/o200k_base').then((module) => {
      this.encoding = module.default;
    });
    return this.loading;
  }

  count(text: string): number {
    if (text.length > MEMO_LENGTH) return this.countParts(text);
    const known = this.memo.get(text);
    if (known !== undefined) return known;
    const tokens = this.countParts(text);
    if (this.memo.size >= MEMO_SIZE) this.memo.delete(this.memo.keys().next().value as string);
    this.memo.set(text, tokens);
    return tokens;
  }

  async countAll(texts: readonly string[], limit: number): Promise<number> {
    if (!this.loaded) await this.load();
    let total = 0;
    for (const text of texts) {
      for (let from = 0; from < text.length && total <= limit;) {
        const end = sliceEnd(text, from);
        // A slice is not remembered: it would keep the whole text alive.
        total +=
          from === 0 && end === text.length ? this.count(text) : this.countParts(text.slice(from, end));
        this.sinceTurn += end - from + PER_TEXT;
        from = end;
        if (this.sinceTurn >= SLICE) {
          this.sinceTurn = 0;
          await nextSlice();
        }
      }
    }
    return total;
  }

  split(text: string): { text: string; tokens: number }[] {
    const encoding = this.ready();
    const pieces: { text: string; tokens: number }[] = [];
    let tokens = 0;
    for (const part of cutRuns(text)) {
      // Token by token and in order: the library decodes with a stream, which holds back the bytes of an unfinished character.
      for (const token of encoding.encode(part, PLAIN)) {
        tokens++;
        const decoded = encoding.decode([token]);
        if (decoded === '') continue;
        pieces.push({ text: decoded, tokens });
        tokens = 0;
      }
    }
    return pieces;
  }

  private countParts(text: string): number {
    const encoding = this.ready();
    let tokens = 0;
    for (const part of cutRuns(text)) tokens += encoding.countTokens(part, PLAIN);
    this.counted += text.length;
    if (this.counted > CACHE_CHARACTERS) {
      this.counted = 0;
      encoding.clearMergeCache();
    }
    return tokens;
  }

  private ready(): Encoding {
    if (!this.encoding) throw new Error('The tokenizer is not loaded yet');
    return this.encoding;
  }
}

/** One tokenizer for each process; loads nothing until it is used. */
export function createTokenizer(): Tokenizer {
  return new LazyTokenizer();
}
