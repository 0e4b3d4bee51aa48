import type { Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';

export const moderationRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/moderations',
    operationId: 'createModeration',
    tag: 'Moderations',
    summary: 'Check whether an input is harmful',
    description:
      'Answered by the default or first provider of kind openai; 404 if there is none. Free of charge.',
    document: `mutation ($input: CreateModerationInput!) {
      body: createModeration(input: $input) { id model results }
    }`,
    body: { limitBytes: BODY_LIMITS.large, open: true, example: { input: 'A text' } },
    schemaName: 'Moderation',
    mayNotFind: true,
  },
];
