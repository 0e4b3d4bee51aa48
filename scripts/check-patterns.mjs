/**
 * Holds that every regular expression of the product takes time in proportion to the text: none of them backtracks over what it has read, nor
 * reads to the end again from each place where it may begin. `scslre` finds runs of one character that are looked at again; the rule below finds
 * beginnings of several characters (`<meta<meta<meta…` against `/<meta[^>]+charset=/`), which it does not look for.
 *
 * An expression that is not linear but meets no long text says so beside it: `// bounded: why` in one of the two lines before.
 */
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RegExpParser } from '@eslint-community/regexpp';
import { Chars, getConsumedChars, isPotentiallyZeroLength } from 'regexp-ast-analysis';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ['src', 'schema', 'rest-compat', 'subscriptions'];
/** A repetition of more is as good as one without end. */
const MANY = 5000;
const REASON = /^\s*(?:\/\/|\*) bounded: \S/;

/** Every regular expression in the syntax tree of a file. */
function* patternsIn(node) {
  if (Array.isArray(node)) for (const item of node) yield* patternsIn(item);
  else if (node !== null && typeof node === 'object') {
    if ((node.type === 'Literal' && node.regex) || node.callee?.name === 'RegExp') yield node;
    else for (const key of Object.keys(node)) yield* patternsIn(node[key]);
  }
}

/** Whether each match begins at a place of its own choosing: not at the start of the text or of `lastIndex`. */
function beginsAnywhere(alternative, flags) {
  if (flags.sticky) return false;
  const [first] = alternative.elements;
  return !(first?.type === 'Assertion' && first.kind === 'start' && !flags.multiline);
}

/** What may stand one after the other, groups opened: one list for each way through them, up to a number that no readable expression has. */
function sequencesOf({ elements }) {
  let sequences = [[]];
  for (const element of elements) {
    const isGroup = element.type === 'Group' || element.type === 'CapturingGroup';
    const ways = isGroup ? element.alternatives.flatMap(sequencesOf) : [[element]];
    sequences = sequences.flatMap((before) => ways.map((way) => [...before, ...way])).slice(0, 256);
  }
  return sequences;
}

/** Whether a repetition cannot reach the next place where its expression may begin: the next line, or the next word. */
function staysApart([first], taken, flags) {
  if (first.type !== 'Assertion') return false;
  if (first.kind === 'start') return taken.isDisjointWith(Chars.lineTerminator(flags));
  return first.kind === 'word' && !first.negate && taken.isSubsetOf(Chars.word(flags));
}

/** Beginnings of several characters that a repetition behind them takes for its own: each of them reads on to the same end. */
function restarts({ pattern, flags }) {
  const readsOn = (elements, at) => {
    const element = elements[at];
    if (element.type !== 'Quantifier' || element.max < MANY || at === 0) return false;
    const canFail = (next) => next.type === 'Assertion' || !isPotentiallyZeroLength(next, flags);
    const taken = getConsumedChars(element, flags).chars;
    if (!elements.slice(at + 1).some(canFail) || staysApart(elements, taken, flags)) return false;
    return elements
      .slice(0, at)
      .filter((before) => before.type !== 'Assertion' && !isPotentiallyZeroLength(before, flags))
      .every((before) => !getConsumedChars(before, flags).chars.isDisjointWith(taken));
  };
  return pattern.alternatives
    .filter((alternative) => beginsAnywhere(alternative, flags))
    .flatMap(sequencesOf)
    .some((elements) => elements.some((_, at) => readsOn(elements, at)));
}

/** Why a regular expression may take more than linear time, or undefined. */
export function faultOfPattern(source, flagNames) {
  const parser = new RegExpParser();
  const flags = parser.parseFlags(flagNames);
  const pattern = parser.parsePattern(source, undefined, undefined, {
    unicode: flags.unicode,
    unicodeSets: flags.unicodeSets,
  });
  const anchored = flags.sticky;
  const reports = analyse(
    { pattern, flags },
    { reportTypes: { Move: !anchored, Self: true, Trade: true } },
  ).reports;
  const worst = reports.find(({ type }) => type !== 'Move') ?? reports[0];
  if (worst)
    return `${worst.exponential ? 'exponential' : 'quadratic'} (${worst.type}) in runs of ${worst.character.literal.source}`;
  if (restarts({ pattern, flags })) return 'quadratic where its beginning is repeated';
  return undefined;
}

async function checkFile(path) {
  const text = await readFile(path, 'utf8');
  if (!text.includes('/')) return [];
  const lines = text.split('\n');
  const faults = [];
  for (const node of patternsIn(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }, path))) {
    const fault = node.regex
      ? faultOfPattern(node.regex.pattern, node.regex.flags)
      : 'built at run time: nobody can look at it';
    if (fault === undefined) continue;
    const line = text.slice(0, node.start).split('\n').length;
    if (lines.slice(Math.max(0, line - 3), line).some((near) => REASON.test(near))) continue;
    faults.push(`${relative(root, path)}:${line}: ${text.slice(node.start, node.end)} is ${fault}`);
  }
  return faults;
}

/** @returns {Promise<string[]>} every expression that is neither linear nor excepted, as `file:line: what` */
export async function checkPatterns() {
  const faults = [];
  for (const folder of FOLDERS) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries)
      if (entry.isFile() && /\.tsx?$/.test(entry.name))
        faults.push(...(await checkFile(join(entry.parentPath, entry.name))));
  }
  return faults;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = await checkPatterns();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
