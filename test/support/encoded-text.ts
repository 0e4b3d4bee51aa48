/** Typical texts of people, in the encodings that their programs write. */
const CHINESE =
  '产品名称,价格,库存\n苹果,3.50,120\n香蕉,2.20,80\n北京烤鸭,128,5\n请注意：本店周一休息，会议改在下午三点举行。';
const TRADITIONAL = '產品名稱,價格\n蘋果,3.50\n天氣預報說明天有雨，請大家帶好雨傘。會議改在下午三點舉行。';
const JAPANESE =
  '商品名,価格,在庫\nりんご,350,12\nバナナ,220,8\n明日は雨が降るでしょう。傘を持って行ってください。会議は午後三時に始まります。';
const KOREAN =
  '제품명,가격\n사과,3500\n내일은 비가 올 예정입니다. 우산을 가져오세요. 회의는 오후 세 시에 시작합니다.';
const RUSSIAN =
  'Название,Цена\nЯблоко,3.50\nЗавтра ожидается дождь, возьмите зонт. Совещание начнётся в три часа.';
const GERMAN =
  'Produkt;Preis\nÄpfel;3,50 €\nMöhren;süß\nBitte beachten Sie: montags geschlossen – „Ruhetag“.';
const FRENCH = 'Société;Prénom\nCafé de la gare;François\nÀ l’hôtel;reçu – déjà payé';
const SPANISH = 'Año,Señor,Dirección\n2024,Núñez,Calle Peña\n¿Qué tal? ¡Muy bien!';
const POLISH =
  'Imię,Miasto\nŁukasz,Łódź\nZażółć gęślą jaźń. Proszę pamiętać o śniadaniu, które będzie o ósmej.';
const GREEK = 'Προϊόν,Τιμή\nΜήλο,3.50\nΑύριο θα βρέξει, πάρτε ομπρέλα μαζί σας.';
const ACCENTS = 'Name,City\nJosé,Málaga\n';

export const ENCODED: [encoding: string, language: string, text: string][] = [
  ['gbk', 'Chinese', CHINESE],
  ['gb18030', 'Chinese', CHINESE],
  ['big5', 'Chinese of Taiwan', TRADITIONAL],
  ['shift_jis', 'Japanese', JAPANESE],
  ['euc-jp', 'Japanese', JAPANESE],
  ['euc-kr', 'Korean', KOREAN],
  ['windows-1251', 'Russian', RUSSIAN],
  ['koi8-r', 'Russian', RUSSIAN],
  ['iso-8859-5', 'Russian', RUSSIAN],
  ['ibm866', 'Russian', RUSSIAN],
  ['windows-1252', 'German', GERMAN],
  ['windows-1252', 'French', FRENCH],
  ['windows-1252', 'Spanish', SPANISH],
  ['windows-1252', 'few letters', ACCENTS],
  ['windows-1250', 'Polish', POLISH],
  ['iso-8859-2', 'Polish', POLISH],
  ['windows-1253', 'Greek', GREEK],
  ['utf-8', 'Russian', RUSSIAN],
  ['utf-8 with a mark', 'Japanese', JAPANESE],
  ['utf-16le', 'German', GERMAN],
  ['utf-16be', 'German', GERMAN],
  ['utf-16le', 'Chinese', CHINESE],
  ['utf-16le with a mark', 'Chinese', CHINESE],
  ['utf-16be with a mark', 'Korean', KOREAN],
];

const WIDE = /^(gb|big5|shift|euc)/;
const tables = new Map<string, Map<string, number[]>>();

/** The bytes of each character, found by decoding all byte sequences. */
function tableOf(encoding: string): Map<string, number[]> {
  const known = tables.get(encoding);
  if (known !== undefined) return known;
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, number[]>();
  const put = (bytes: number[]) => {
    const text = decoder.decode(Uint8Array.from(bytes));
    if ([...text].length === 1 && text !== '\ufffd' && !table.has(text)) table.set(text, bytes);
  };
  for (let byte = 0; byte < 256; byte++) put([byte]);
  for (let lead = 0x81; WIDE.test(encoding) && lead < 0xff; lead++)
    for (let trail = 0x40; trail < 0xff; trail++) put([lead, trail]);
  tables.set(encoding, table);
  return table;
}

export function encoded(text: string, name: string): Buffer {
  const [encoding = '', mark] = name.split(' ');
  const marked = mark === undefined ? text : `\ufeff${text}`;
  if (encoding === 'utf-8') return Buffer.from(marked);
  if (encoding === 'utf-16le') return Buffer.from(marked, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(marked, 'utf16le').swap16();
  const table = tableOf(encoding);
  return Buffer.from(
    [...text].flatMap((character) => {
      const bytes = table.get(character);
      if (bytes === undefined) throw new Error(`${encoding} has no ${character}`);
      return bytes;
    }),
  );
}
