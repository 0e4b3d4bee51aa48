import { expect, it } from 'vitest';
import { labelText } from '../../src/sandbox/draw/label-text.js';

it.each([
  ['A mill by the river — № 5', 'A mill by the river — № 5'],
  ['Москва · Ελλάδα · مدينة · שלום', 'Москва · Ελλάδα · مدينة · שלום'],
  ['東京の夜景', '[Japanese]'],
  ['한국의 산', '[Korean]'],
  ['北京', '[Chinese]'],
  ['हिन्दी नगर in summer', '[Devanagari] in summer'],
  ['Ein Garten 🌸🚀', 'Ein Garten'],
  ['🌸', ''],
])('of %j the bundled font writes %j', (text, shown) => {
  expect(labelText(text)).toBe(shown);
});
