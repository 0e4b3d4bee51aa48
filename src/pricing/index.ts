export { costOf, maximumCost, exactCost, nanoOf, usdOf, versionAt } from './cost.js';
export { decimalText, scaledDecimal } from './decimal.js';
export { isPriceTime, isUsd, priceVersions, shownUsd } from './price-entry.js';
export { PRICED_TOKENS, PRICED_UNITS } from './pricing.types.js';
