import { createDice } from './dice.js';
import type { Dice } from './dice.js';
import { LEADS, isLead } from './instruments.js';
import type { Instrument } from './instruments.js';

/** The plan of a piece, derived from its prompt. */
export interface MusicPlan {
  /** Beats a minute. */
  tempo: number;
  beatsPerBar: 3 | 4;
  /** Semitones above C. */
  root: number;
  minor: boolean;
  lead: Instrument;
  /** Instruments of the chords. */
  pad: Instrument;
  bass: boolean;
  drums: boolean;
  /** Pan of the lead: −1 left to 1 right. */
  pan: number;
  /** 0 sparse and soft to 1 dense and loud. */
  energy: number;
  dice: Dice;
}

interface Feel {
  words: RegExp;
  tempo?: number;
  energy?: number;
  minor?: boolean;
  drums?: boolean;
  bass?: boolean;
  lead?: Instrument;
  pad?: Instrument;
}

/** Styles and moods; the first that sets a trait decides it. */
const FEELS: readonly Feel[] = [
  {
    words: /drum\s*(and|n|&|'n')\s*bass|jungle/,
    tempo: 172,
    energy: 1,
    drums: true,
    bass: true,
    lead: 'synth',
  },
  {
    words: /techno|trance|rave|edm/,
    tempo: 132,
    energy: 0.95,
    drums: true,
    bass: true,
    lead: 'synth',
    pad: 'synth',
  },
  { words: /house|disco|dance|club/, tempo: 124, energy: 0.85, drums: true, bass: true, lead: 'synth' },
  {
    words: /rock|metal|punk/,
    tempo: 138,
    energy: 0.95,
    drums: true,
    bass: true,
    lead: 'guitar',
    pad: 'guitar',
  },
  { words: /hip[\s-]?hop|trap|rap/, tempo: 88, energy: 0.7, drums: true, bass: true, minor: true },
  {
    words: /lo-?fi|chill|relax/,
    tempo: 78,
    energy: 0.4,
    drums: true,
    bass: true,
    lead: 'piano',
    pad: 'organ',
  },
  {
    words: /jazz|swing|blues/,
    tempo: 112,
    energy: 0.55,
    drums: true,
    bass: true,
    lead: 'brass',
    pad: 'piano',
  },
  {
    words: /ambient|drone|meditat|atmospher/,
    tempo: 58,
    energy: 0.12,
    drums: false,
    bass: false,
    lead: 'flute',
    pad: 'strings',
  },
  {
    words: /orchestra|symphon|cinematic|epic|film/,
    tempo: 96,
    energy: 0.75,
    lead: 'strings',
    pad: 'strings',
    bass: true,
  },
  {
    words: /classical|baroque|chamber/,
    tempo: 104,
    energy: 0.45,
    drums: false,
    lead: 'piano',
    pad: 'strings',
  },
  { words: /folk|country|acoustic/, tempo: 102, energy: 0.5, lead: 'guitar', pad: 'guitar' },
  {
    words: /lullaby|music\s*box/,
    tempo: 66,
    energy: 0.15,
    drums: false,
    lead: 'bell',
    pad: 'bell',
    minor: false,
  },
  { words: /march|anthem|triumph/, tempo: 116, energy: 0.85, drums: true, lead: 'brass', minor: false },
  { words: /sad|melanchol|sorrow|dark|tragic|gloom|moody/, minor: true, tempo: 70, energy: 0.3 },
  { words: /tense|scary|horror|suspense|dramatic/, minor: true, tempo: 92, energy: 0.6 },
  { words: /happy|cheerful|joy|bright|sunny|uplifting|playful|fun/, minor: false, tempo: 122, energy: 0.7 },
  { words: /calm|soft|gentle|peaceful|quiet|dreamy|slow|ballad/, tempo: 66, energy: 0.22 },
  { words: /energetic|fast|upbeat|driving|intense|quick/, tempo: 140, energy: 0.9 },
];

const NOTES: Record<string, number> = { c: 0, d: 2, e: 4, f: 5, g: 7, a: 9, b: 11 };
const SPOKEN: readonly [Instrument, RegExp][] = [
  ['piano', /piano|keys/],
  ['guitar', /guitar|ukulele|banjo|harp/],
  ['strings', /string|violin|cello|viola/],
  ['flute', /flute|pipe|whistle|recorder|clarinet/],
  ['organ', /organ|accordion|choir/],
  ['bell', /bell|chime|glocken|vibraphone|marimba|music\s*box/],
  ['brass', /brass|trumpet|horn|trombone|sax/],
  ['synth', /synth|electro|lead|arpegg|8-?bit|chiptune/],
];

/** The instruments that a text names, in its order. */
function namedIn(text: string): Instrument[] {
  return SPOKEN.map(([instrument, words]) => ({ instrument, at: text.search(words) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ instrument }) => instrument);
}

/** The same prompt, negative prompt and seed give the same plan. */
export function planMusic(request: {
  prompt: string;
  negativePrompt: string;
  seed: number | null;
}): MusicPlan {
  const text = request.prompt.toLowerCase();
  const unwanted = request.negativePrompt.toLowerCase();
  const dice = createDice(`${request.prompt}\n${request.seed ?? ''}`);
  const feels = FEELS.filter(({ words }) => words.test(text) && !words.test(unwanted));
  const trait = <Name extends keyof Feel>(name: Name): Feel[Name] | undefined =>
    feels.find((feel) => feel[name] !== undefined)?.[name];
  const banned = new Set(namedIn(unwanted));
  const named = namedIn(text).filter((instrument) => !banned.has(instrument));
  const allowed = LEADS.filter((instrument) => !banned.has(instrument));
  const choose = (wanted: Instrument | undefined, others: readonly Instrument[]): Instrument =>
    wanted !== undefined && !banned.has(wanted) ? wanted : (others[dice.int(others.length)] ?? 'synth');
  const lead = choose(named.find(isLead) ?? trait('lead'), allowed);
  const pad = choose(named.find((instrument) => instrument !== lead) ?? trait('pad'), allowed);
  const wants = (words: RegExp, fallback: boolean): boolean =>
    !words.test(unwanted) && (words.test(text) || fallback);
  const energy = energyOf(trait('energy') ?? 0.35 + dice.next() * 0.4, unwanted);
  return {
    tempo: tempoOf(text, unwanted, trait('tempo') ?? 84 + dice.int(40)),
    beatsPerBar: /waltz|3\/4/.test(text) ? 3 : 4,
    ...keyOf(text, { unwanted, minor: trait('minor'), dice }),
    lead,
    pad,
    bass: wants(/\bbass/, trait('bass') ?? energy > 0.3),
    drums: wants(/drum|percussion|\bbeats?\b|rhythm/, trait('drums') ?? energy > 0.5),
    pan: createDice(unwanted).next() * 0.6 - 0.3,
    energy,
    dice,
  };
}

function energyOf(energy: number, unwanted: string): number {
  if (/loud|energetic|intense|busy|aggressive/.test(unwanted)) return Math.min(energy, 0.3);
  return /quiet|soft|boring|calm|empty/.test(unwanted) ? Math.max(energy, 0.6) : energy;
}

function tempoOf(text: string, unwanted: string, usual: number): number {
  const told = /(\d{2,3})\s*(?:bpm|beats per minute)/.exec(text)?.[1];
  if (told !== undefined) return Math.min(220, Math.max(40, Number(told)));
  if (/\bslow/.test(text)) return Math.min(usual, 76);
  if (/\bfast|quick/.test(text)) return Math.max(usual, 136);
  if (/\bfast|quick|upbeat/.test(unwanted)) return Math.min(usual, 84);
  return /\bslow/.test(unwanted) ? Math.max(usual, 116) : usual;
}

function keyOf(
  text: string,
  { unwanted, minor, dice }: { unwanted: string; minor: boolean | undefined; dice: Dice },
): { root: number; minor: boolean } {
  const told = /\b([a-g])(\s?sharp|\s?flat|#|♯|b|♭)?[\s-](major|minor)\b/.exec(text);
  const drawn = { root: dice.int(12), minor: dice.next() < 0.45 };
  if (told) {
    const sign = told[2]?.trim() ?? '';
    const shift = /sharp|#|♯/.test(sign) ? 1 : sign === '' ? 0 : -1;
    return { root: ((NOTES[told[1] ?? 'c'] ?? 0) + shift + 12) % 12, minor: told[3] === 'minor' };
  }
  if (/\bminor\b/.test(text)) return { ...drawn, minor: true };
  if (/\bmajor\b/.test(text)) return { ...drawn, minor: false };
  if (/sad|dark|minor|gloom/.test(unwanted)) return { ...drawn, minor: false };
  if (/happy|cheerful|major/.test(unwanted)) return { ...drawn, minor: true };
  return { ...drawn, minor: minor ?? drawn.minor };
}
