import type { Random } from '../random.js';

const MAX_REPEAT = 64;
const MAX_LENGTH = 2000;
/** The maximum of steps for one pattern; {@link PatternBudget} limits all patterns of a schema together. */
const MAX_STEPS = 20_000;
/** Listing the characters of a class, to pick one, costs a step for so many. */
const CHARACTERS_PER_STEP = 8;
const CLASSES: Record<string, string> = { d: '0123456789', w: 'sandbox', s: ' ', D: 'x', W: '-', S: 'x' };

/** The steps that are left for all patterns of one schema, which may have thousands of hostile ones. */
export interface PatternBudget {
  steps: number;
}

/** Reads a regular expression's source and writes a string that it matches. The caller's pattern is never executed. */
class PatternReader {
  private at = 0;
  private made = 0;
  private steps = 0;

  constructor(
    private readonly source: string,
    private readonly random: Random,
    private readonly budget: PatternBudget,
  ) {}

  private spend(steps: number): void {
    this.steps += steps;
    this.budget.steps -= steps;
  }

  private get spent(): boolean {
    return this.steps > MAX_STEPS || this.budget.steps <= 0;
  }

  /** alternatives: the first one is used, the others are skipped */
  alternatives(): string {
    const first = this.sequence();
    while (this.source[this.at] === '|') {
      this.at++;
      this.sequence();
    }
    return first;
  }

  private sequence(): string {
    let text = '';
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at] ?? '')) {
      const start = this.at;
      const one = this.atom();
      const times = this.repeat();
      text += times === 1 ? one : this.again({ start, one, times });
      if (this.made > MAX_LENGTH) break;
    }
    this.made += text.length;
    return text;
  }

  private again(atom: { start: number; one: string; times: number }): string {
    const end = this.at;
    let text = atom.times > 0 ? atom.one : '';
    for (let count = 1; count < atom.times && !this.spent; count++) {
      this.at = atom.start;
      text += this.atom();
    }
    this.at = this.spent ? this.source.length : end;
    return text;
  }

  private atom(): string {
    // Each step is counted: nested repetitions of nothing would never end.
    this.spend(1);
    if (this.spent) this.at = this.source.length;
    const character = this.source[this.at++] ?? '';
    if (character === '^' || character === '$') return '';
    if (character === '(') return this.group();
    if (character === '[') return this.set();
    if (character === '.') return 'x';
    if (character === '\\') return this.escape();
    return character;
  }

  private group(): string {
    const look = /^\?(?:[:]|<[A-Za-z]\w*>|<?[=!])/.exec(this.source.slice(this.at))?.[0] ?? '';
    this.at += look.length;
    const text = this.alternatives();
    this.at++;
    return /[=!]$/.test(look) ? '' : text;
  }

  private set(): string {
    const negated = this.source[this.at] === '^';
    if (negated) this.at++;
    let members = '';
    for (
      let first = true;
      this.at < this.source.length && (first || this.source[this.at] !== ']');
      first = false
    ) {
      const low = this.member();
      if (low.length === 1 && this.source[this.at] === '-' && this.source[this.at + 1] !== ']') {
        this.at++;
        members += range(low, this.member());
        this.spend(members.length / CHARACTERS_PER_STEP);
      } else members += low;
    }
    this.at++;
    if (negated) return [...'x0-_ ~A'].find((character) => !members.includes(character)) ?? 'x';
    return members === '' ? '' : (members[this.random.int(members.length)] ?? '');
  }

  private member(): string {
    const character = this.source[this.at++] ?? '';
    if (character !== '\\') return character;
    const name = this.source[this.at++] ?? '';
    return CLASSES[name] ?? plain(name);
  }

  private escape(): string {
    const name = this.source[this.at++] ?? '';
    if (name === 'b' || name === 'B') return '';
    const members = CLASSES[name];
    return members === undefined ? plain(name) : (members[this.random.int(members.length)] ?? '');
  }

  private repeat(): number {
    const found = /^(?:\*|\+|\?|\{(\d+)(?:,\d*)?\})\??/.exec(this.source.slice(this.at, this.at + 24));
    if (!found) return 1;
    this.at += found[0].length;
    if (found[1] !== undefined) return Math.min(Number(found[1]), MAX_REPEAT);
    return found[0].startsWith('+') ? 1 : 0;
  }
}

function plain(name: string): string {
  const known: Record<string, string> = { n: '\n', t: '\t', r: '\r' };
  return known[name] ?? name;
}

function range(low: string, high: string): string {
  const from = low.charCodeAt(0);
  const to = Math.min(high.charCodeAt(0), from + 128);
  let text = '';
  for (let code = from; code <= to; code++) text += String.fromCharCode(code);
  return text;
}

/** A string that a regular expression of the usual constructs matches. */
export function sampleOfPattern(
  pattern: string,
  random: Random,
  budget: PatternBudget = { steps: MAX_STEPS },
): string {
  return new PatternReader(pattern.slice(0, 1000), random, budget).alternatives().slice(0, MAX_LENGTH);
}
