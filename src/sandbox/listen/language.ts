/** Common short words by which a language is recognised. */
const COMMON: Record<string, string> = {
  en: 'the and of to in is it that you for was on are with this be have not but they at we what there',
  de: 'der die das und ist nicht ich sie es ein eine zu mit auf für den dem wir auch aber von wie',
  fr: 'le la les et est un une de des je vous nous que qui dans pour pas sur avec ce il elle',
  es: 'el la los las y es un una de que en por con para no se lo como más pero su está',
  it: 'il lo la gli le e è un una di che in per non con sono come più ma si della',
  pt: 'o a os as e é um uma de que em para não com se como mais mas por do da',
  nl: 'de het een en is niet ik je van dat op te zijn met voor maar wij ook hij',
};
const LISTS = Object.entries(COMMON).map(([code, words]) => [code, new Set(words.split(' '))] as const);

/** The language of a text by its commonest words; English if it has none (the voice speaks English). */
export function languageOf(text: string): string {
  const words = text.toLowerCase().split(/[^\p{L}]+/u);
  let best = { code: 'en', hits: 0 };
  for (const [code, list] of LISTS) {
    const hits = words.filter((word) => list.has(word)).length;
    if (hits > best.hits) best = { code, hits };
  }
  return best.code;
}
