/** Languages that upstreams transcribe. */
const CODES =
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr ga gl gu ha haw he hi hr ht hu hy id is it ja jv ka kk km ' +
  'kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk ' +
  'tl tr tt uk ur uz vi yi yo yue zh';

/** Names of theirs that are not the usual ones. */
const OTHERS: readonly [name: string, code: string][] = [
  ['bengali', 'bn'],
  ['tagalog', 'tl'],
  ['myanmar', 'my'],
  ['nynorsk', 'nn'],
  ['castilian', 'es'],
  ['valencian', 'ca'],
  ['flemish', 'nl'],
  ['moldavian', 'ro'],
  ['mandarin', 'zh'],
  ['pushto', 'ps'],
  ['panjabi', 'pa'],
  ['sinhalese', 'si'],
  ['letzeburgesch', 'lb'],
  ['haitian', 'ht'],
  ['maori', 'mi'],
];

function namesOfLanguages(): ReadonlyMap<string, string> {
  const usual = new Intl.DisplayNames('en', { type: 'language' });
  const pairs = CODES.split(' ').map((code): [string, string] => [
    (usual.of(code) ?? code).toLowerCase(),
    code,
  ]);
  return new Map([...pairs, ...OTHERS]);
}

/** The short form of a code of two or three letters, without its region: `eng-US` is `en`. */
function shortCode(code: string): string {
  try {
    return new Intl.Locale(code.replaceAll('_', '-')).language;
  } catch {
    return code;
  }
}

/** The code (contract 2.9) of a language that an upstream calls by its English name or by a code; what is neither stays. */
export function languageCode(said: string): string {
  const name = said.trim().toLowerCase();
  return namesOfLanguages().get(name) ?? (/^[a-z]{2,3}([-_][a-z0-9]+)*$/.test(name) ? shortCode(name) : said);
}
