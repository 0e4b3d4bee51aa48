import { rest, type Attack } from './loop-attacks/attack.js';
import { graphql } from './loop-attacks/graphql.js';

/** A harmless call of each kind. */
export const harmlessCalls = (): Attack[] => {
  const firsts = new Map<string, Attack>();
  const calm = (path: string, body: unknown): Attack => ({
    field: path,
    form: 'harmless',
    send: rest('POST', path, body),
  });
  for (const one of [
    calm('/chat/completions', { messages: [{ role: 'user', content: 'Hello @sandbox{"tokens":500}' }] }),
    calm('/chat/completions?stream=true', { messages: [{ role: 'user', content: 'Hello' }] }),
    calm('/embeddings', { input: ['a', 'b'] }),
    calm('/images/generations?async=true', { prompt: 'a' }),
    calm('/audio/speech?async=true', { input: 'Hello' }),
    calm('/music/generations?async=true', { prompt: 'a' }),
    calm('/images/edits?async=true', { image: 'iVBORw0KGgo=', operation: 'superResolution', scale: 2 }),
    calm('/audio/transcriptions?async=true', { file: 'AAAA' }),
    calm('/videos/generations?async=true', { prompt: 'a' }),
    calm('/webhooks', { name: 'a', url: 'https://example.com/', events: [] }),
  ])
    firsts.set(one.field, one);
  return [
    ...firsts.values(),
    {
      field: 'agent',
      form: 'harmless',
      send: rest('POST', ({ agentId }) => `/agents/${agentId}/run`, { input: 'Hello' }),
    },
    { field: 'graphql', form: 'harmless', send: graphql('{ penstockVersion { api } }') },
  ];
};
