import { OVERALL_DIMENSIONS } from '../../src/usage/usage.types.js';
import { words } from '../enums.js';

export const OperatedUsageDimension = words(
  'OperatedUsageDimension',
  OVERALL_DIMENSIONS,
  'A dimension of usage over all organisations.',
  {
    day: 'By days (UTC).',
    organization: 'By organisation.',
    model: 'By the requested model.',
    provider: 'By the provider of the model that answered.',
  },
);
