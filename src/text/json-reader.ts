import { isAscii } from 'node:buffer';
import { isStorable } from './stored-json.js';

/** The limits of a reader, and the errors for texts that exceed them. */
export interface JsonRules {
  maxDepth: number;
  /** Members of all objects together. */
  maxMembers: number;
  /** Members of one object. A larger object would block the event loop, because its names are collected and sorted in one step. */
  maxObjectMembers: number;
  /** Members of all objects and items of all lists together. */
  maxCommas: number;
  /** Bytes of one string. A longer string takes too long to be decoded. */
  maxStringBytes: number;
  malformed(): Error;
  tooDeep(): Error;
  tooMany(): Error;
  /** @param path the names that lead to the string, at most three */
  tooLong(path: string[]): Error;
  /** The error for a NUL or a lone surrogate; null: they are accepted. */
  unstorable: ((path: string[]) => Error) | null;
}

/** Bytes of a string, or of white space, that are scanned between two looks at the clock. */
const PIECE_BYTES = 128 * 1024;
/** Tokens that are read between two looks at the clock. */
const TOKENS = 64;
/** The clock is checked after each token that is longer than this. */
const LONG_TOKEN_BYTES = 4 * 1024;
/** Numbers of a list that are parsed in one step. */
const RUN_BYTES = 16 * 1024;
const MIN_RUN = 4;
/** The maximum length of a number. A longer one would not be more precise. */
const MAX_NUMBER_LENGTH = 1000;
/** About how much memory a value takes besides its text. */
const VALUE_BYTES = 48;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
const SPACE = 0x20;
const COMMA = 0x2c;

/** The kinds of token that may come next. */
type Expected = 'value' | 'item' | 'first item' | 'key' | 'first key' | 'colon' | 'comma' | 'end';

interface Level {
  of: unknown[] | Record<string, unknown>;
  /** In an object: the name of the member that is being read. */
  key: string;
  members: number;
}

/** A string that is longer than one piece. */
interface OpenString {
  /** The position at which its text begins. */
  start: number;
  /** The position up to which it was scanned. */
  at: number;
  /** The text that was decoded so far. */
  pieces: string[];
  /** The position up to which it was decoded. */
  decoded: number;
  /** The position up to which the bytes are known to be ASCII. A long ASCII text is decoded last, in one step, because joining pieces takes twice as long. */
  ascii: number;
  escaped: boolean;
  /** The first half of a surrogate pair, if the decoded text ends with one. */
  half: string;
  /** Whether the decoded text contains a NUL or a lone surrogate. */
  isFaulty: boolean;
}

/**
 * Reads JSON of many megabytes piece by piece, within its rules. The result is that of JSON.parse, except that `__proto__` below the first level
 * is left out. JSON.parse would block the event loop for hundreds of milliseconds, and so would a parser in another thread when it passes its
 * value back.
 */
export class JsonReader {
  value: unknown;
  /** About how much memory the value takes, besides texts. */
  weight = 0;
  readonly #levels: Level[] = [];
  #expected: Expected = 'value';
  #open: OpenString | null = null;
  /** The error for a well-formed text that breaks a rule. */
  #fault: Error | null = null;
  #members = 0;
  #commas = 0;

  /** @param bytes UTF-8, read from `at` on */
  constructor(
    private readonly bytes: Buffer,
    private readonly rules: JsonRules,
    private at = 0,
  ) {}

  /**
   * Continues to read until about `until`. @returns true when {@link value} is complete
   * @throws the error of a broken rule
   */
  read(until: number): boolean {
    for (let token = 1; this.#skipBlanks(); token++) {
      const from = this.at;
      this.#next();
      if ((token % TOKENS === 0 || this.at - from >= LONG_TOKEN_BYTES) && performance.now() >= until)
        return false;
    }
    if (this.at < this.bytes.length) return false;
    if (this.#expected !== 'end') throw this.rules.malformed();
    if (this.#fault !== null) throw this.#fault;
    return true;
  }

  /** @returns false at the end, and after as much white space as one step may scan */
  #skipBlanks(): boolean {
    if (this.#open !== null) return true;
    const limit = Math.min(this.bytes.length, this.at + PIECE_BYTES);
    for (; this.at < limit; this.at++) {
      const byte = this.bytes[this.at];
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return true;
    }
    return false;
  }

  #next(): void {
    if (this.#open !== null) return this.#readOn(this.#open);
    const byte = this.bytes[this.at] as number;
    switch (this.#expected) {
      case 'colon':
        if (byte !== 0x3a) throw this.rules.malformed();
        this.#countMember();
        return this.#step('value');
      case 'comma':
        return this.#afterValue(byte);
      case 'first key':
      case 'key':
        if (byte === 0x7d && this.#expected === 'first key') return this.#close();
        if (byte !== QUOTE) throw this.rules.malformed();
        return this.#openString();
      case 'first item':
        if (byte === 0x5d) return this.#close();
        return this.#readValue(byte);
      case 'end':
        throw this.rules.malformed();
      default:
        return this.#readValue(byte);
    }
  }

  #countMember(): void {
    const level = this.#levels.at(-1);
    const { maxMembers, maxObjectMembers } = this.rules;
    if (++this.#members > maxMembers || (level && ++level.members > maxObjectMembers))
      throw this.rules.tooMany();
  }

  #step(expected: Expected): void {
    this.#expected = expected;
    this.at++;
  }

  #afterValue(byte: number): void {
    const isList = Array.isArray(this.#levels.at(-1)?.of);
    if (byte === COMMA) {
      this.#countCommas(1);
      return this.#step(isList ? 'item' : 'key');
    }
    if (byte !== (isList ? 0x5d : 0x7d)) throw this.rules.malformed();
    this.#close();
  }

  #countCommas(count: number): void {
    if ((this.#commas += count) > this.rules.maxCommas) throw this.rules.tooMany();
  }

  #readValue(byte: number): void {
    if (byte === QUOTE) return this.#openString();
    if (byte === 0x7b) return this.#openLevel({}, 'first key');
    if (byte === 0x5b) return this.#openLevel([], 'first item');
    const of = this.#levels.at(-1)?.of;
    if (Array.isArray(of) && this.#readRun(of)) return;
    let end = this.at + 1;
    while (end - this.at <= MAX_NUMBER_LENGTH && isWordByte(this.bytes[end])) end++;
    let value: unknown;
    try {
      value = JSON.parse(this.bytes.toString('latin1', this.at, end));
    } catch {
      throw this.rules.malformed();
    }
    this.at = end;
    this.#take(value);
  }

  /** Parses numbers and words up to the last comma nearby, because vectors have millions of them. @returns false if there are few */
  #readRun(list: unknown[]): boolean {
    const limit = Math.min(this.bytes.length, this.at + RUN_BYTES);
    let end = this.at;
    let count = 0;
    for (let at = this.at; at < limit; at++) {
      const byte = this.bytes[at] as number;
      if (byte === COMMA) {
        end = at;
        count++;
      } else if (byte > SPACE && !isWordByte(byte)) break;
    }
    if (count < MIN_RUN) return false;
    this.#countCommas(count - 1);
    let values: unknown[];
    try {
      values = JSON.parse(`[${this.bytes.toString('latin1', this.at, end)}]`) as unknown[];
    } catch {
      throw this.rules.malformed();
    }
    for (const value of values) list.push(value);
    this.weight += VALUE_BYTES * count;
    this.at = end;
    this.#expected = 'comma';
    return true;
  }

  #openLevel(of: Level['of'], expected: Expected): void {
    if (this.#levels.push({ of, key: '', members: 0 }) > this.rules.maxDepth) throw this.rules.tooDeep();
    this.#step(expected);
  }

  #close(): void {
    this.at++;
    this.#take(this.#levels.pop()?.of);
  }

  #take(value: unknown): void {
    this.weight += VALUE_BYTES;
    const level = this.#levels.at(-1);
    this.#expected = level === undefined ? 'end' : 'comma';
    if (level === undefined) this.value = value;
    else if (Array.isArray(level.of)) level.of.push(value);
    else if (level.key !== '__proto__') level.of[level.key] = value;
    else if (this.#levels.length === 1)
      Object.defineProperty(level.of, level.key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
  }

  #openString(): void {
    const start = this.at + 1;
    this.#readOn({
      start,
      at: start,
      pieces: [],
      decoded: start,
      ascii: start,
      escaped: false,
      half: '',
      isFaulty: false,
    });
  }

  /** Scans the next piece of a string. */
  #readOn(open: OpenString): void {
    const { bytes } = this;
    const limit = Math.min(bytes.length, open.at + PIECE_BYTES);
    let at = open.at;
    for (; at < limit; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return this.#endString(open, at);
      if (byte < SPACE) throw this.rules.malformed();
      if (byte === BACKSLASH) {
        if (!open.escaped) this.#takePlain(open, at);
        open.escaped = true;
        at += bytes[at + 1] === SMALL_U ? 5 : 1;
      }
    }
    if (at >= bytes.length) throw this.rules.malformed();
    if (at - open.start > this.rules.maxStringBytes) throw this.rules.tooLong(this.#path(false));
    // A piece does not end inside a character, which has at most four bytes.
    for (let more = 0; more < 3 && ((bytes[at] as number) & 0xc0) === 0x80; more++) at++;
    if (open.escaped) this.#decode(open, at);
    else if (isAscii(bytes.subarray(open.ascii, at))) open.ascii = at;
    else this.#takePlain(open, at);
    open.at = this.at = at;
    this.#open = open;
  }

  /** Copies the text before the first escape. It needs no parser, and contains nothing that a rule refuses. */
  #takePlain(open: OpenString, end: number): void {
    const { bytes } = this;
    if (open.ascii === open.decoded) open.pieces.push(bytes.toString('utf8', open.decoded, end));
    else if (isAscii(bytes.subarray(open.ascii, end)))
      open.pieces.push(bytes.toString('latin1', open.decoded, end));
    else
      open.pieces.push(
        bytes.toString('latin1', open.decoded, open.ascii),
        bytes.toString('utf8', open.ascii, end),
      );
    open.decoded = open.ascii = end;
  }

  /** @throws for an invalid escape */
  #decode(open: OpenString, end: number): void {
    let piece: string;
    try {
      piece = JSON.parse(`"${this.bytes.toString('utf8', open.decoded, end)}"`) as string;
    } catch {
      throw this.rules.malformed();
    }
    open.pieces.push(piece);
    open.decoded = end;
    if (this.rules.unstorable === null) return;
    const isHalf = (piece.charCodeAt(piece.length - 1) & 0xfc00) === 0xd800;
    const whole = open.half + (isHalf ? piece.slice(0, -1) : piece);
    open.half = isHalf ? piece.slice(-1) : '';
    open.isFaulty ||= !isStorable(whole);
  }

  #endString(open: OpenString, end: number): void {
    if (open.escaped) this.#decode(open, end);
    else this.#takePlain(open, end);
    const text = open.pieces.length === 1 ? (open.pieces[0] as string) : open.pieces.join('');
    this.#open = null;
    this.at = end + 1;
    const isKey = this.#expected === 'key' || this.#expected === 'first key';
    // Text without escapes contains neither: UTF-8 has no lone surrogates, and a JSON string no control characters. Invalid JSON is
    // reported before them.
    if (open.isFaulty || open.half !== '') this.#fault ??= this.rules.unstorable?.(this.#path(isKey)) ?? null;
    const level = this.#levels.at(-1);
    if (!isKey || level === undefined) return this.#take(text);
    level.key = text;
    this.#expected = 'colon';
  }

  /** The names that lead to the current value, at most three. */
  #path(isKey: boolean): string[] {
    const levels = isKey ? this.#levels.slice(0, -1) : this.#levels;
    return levels.flatMap(({ of, key }) => (Array.isArray(of) ? [] : [key])).slice(0, 3);
  }
}

/** Matches the characters of a number or a word; JSON.parse refuses what is still invalid. */
function isWordByte(byte = SPACE): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || WORD_SIGNS.has(byte);
}
const WORD_SIGNS = new Set([...'+-.E'].map((sign) => sign.charCodeAt(0)));
