/** The data of a subtitle. */
export interface CueSource {
  /** Seconds. */
  start: number;
  end: number;
  text: string;
  speaker: string | null;
  words: readonly { word: string; start: number; end: number }[] | null;
}

interface Cue {
  startMs: number;
  endMs: number;
  text: string;
  speaker: string | null;
}

/** The maximum of a cue: two lines. */
const MAX_CHARACTERS = 84;
const MAX_SECONDS = 7;
const SHORTEST_MS = 1;

/** Plain text. */
export function toText(text: string): string {
  return text === '' ? '' : `${text}\n`;
}

/** SubRip: numbered cues, times as `HH:MM:SS,mmm`, a blank line after each. */
export function toSrt(segments: readonly CueSource[]): string {
  return cuesOf(segments)
    .map(({ startMs, endMs, text, speaker }, index) => {
      const line = (speaker === null ? text : `${speaker}: ${text}`).replaceAll('-->', '->');
      return `${index + 1}\n${clock(startMs, ',')} --> ${clock(endMs, ',')}\n${line}\n\n`;
    })
    .join('');
}

/** WebVTT: the header line, then cues with times as `HH:MM:SS.mmm`. */
export function toVtt(segments: readonly CueSource[]): string {
  const cues = cuesOf(segments).map(({ startMs, endMs, text, speaker }) => {
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const line = speaker === null ? escaped : `<v ${speaker}>${escaped}`;
    return `${clock(startMs, '.')} --> ${clock(endMs, '.')}\n${line}\n\n`;
  });
  return `WEBVTT\n\n${cues.join('')}`;
}

/** Cues in order, never empty, never overlapping, each with a minimum duration. */
function cuesOf(segments: readonly CueSource[]): Cue[] {
  const cues: Cue[] = [];
  for (const part of segments.flatMap(readable)) {
    const text = part.text.replace(/\s+/g, ' ').trim();
    if (text === '') continue;
    const startMs = Math.max(milliseconds(part.start), cues.at(-1)?.startMs ?? 0);
    const endMs = Math.max(milliseconds(part.end), startMs + SHORTEST_MS);
    cues.push({ startMs, endMs, text, speaker: part.speaker });
  }
  return cues;
}

/** Splits a segment that is too long for a cue between words, if their times are known. */
function readable(segment: CueSource): CueSource[] {
  const fits = segment.text.length <= MAX_CHARACTERS && segment.end - segment.start <= MAX_SECONDS;
  const pieces = fits ? [] : piecesOf(segment);
  if (pieces.length < 2) return [segment];
  const parts: CueSource[] = [];
  for (const { text, start, end } of pieces) {
    const last = parts.at(-1);
    const joins =
      last !== undefined &&
      last.text.length + text.trimEnd().length <= MAX_CHARACTERS &&
      end - last.start <= MAX_SECONDS &&
      !(/[.!?]["')\]]*\s*$/.test(last.text) && last.text.trimEnd().length > MAX_CHARACTERS / 2);
    if (joins) Object.assign(last, { text: last.text + text, end });
    else parts.push({ ...segment, text, start, end, words: null });
  }
  return parts;
}

interface Piece {
  text: string;
  start: number;
  end: number;
}

/** A word that is found farther away than this in the text is taken to be another occurrence. */
const NEAR_CHARACTERS = 60;
const SOMETHING_SAID = /[\p{L}\p{N}]/u;

/**
 * Splits the text at its words, with punctuation and spaces, which upstreams' words often lack. A word that is not found in the text is no split
 * point; text without word times lasts until the next word, or the segment's end.
 */
function piecesOf({ text, words, ...segment }: CueSource): Piece[] {
  const small = text.toLowerCase();
  // Some letters change their length in lower case, so positions would differ.
  const fold = small.length === text.length ? (some: string) => some.toLowerCase() : (some: string) => some;
  const folded = fold(text);
  const found: { at: number; behind: number; start: number; end: number }[] = [];
  let near = NEAR_CHARACTERS;
  for (const { word: heard, start, end } of words ?? []) {
    const word = fold(heard.trim());
    const from = found.at(-1)?.behind ?? 0;
    const at = word === '' ? -1 : folded.indexOf(word, from);
    if (at < 0 || at - from > near) near += word.length;
    else {
      found.push({ at, behind: at + word.length, start, end });
      near = NEAR_CHARACTERS;
    }
  }
  return found.map(({ at, behind, start, end }, index) => {
    const next = found[index + 1];
    const isUntold = (a: number, b?: number) => SOMETHING_SAID.test(text.slice(a, b));
    return {
      text: text.slice(index === 0 ? 0 : at, next?.at),
      start: index === 0 && isUntold(0, at) ? segment.start : start,
      end: isUntold(behind, next?.at) ? Math.max(end, next?.start ?? segment.end) : end,
    };
  });
}

function milliseconds(seconds: number): number {
  return Math.max(0, Math.round(seconds * 1000));
}

function clock(ms: number, mark: ',' | '.'): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1000) % 60,
  ];
  return `${two(hours)}:${two(minutes)}:${two(seconds)}${mark}${String(ms % 1000).padStart(3, '0')}`;
}
