import { z } from 'zod';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { costBound } from '../../generation/index.js';
import { defineTool } from './define-tool.js';
import { PICTURE } from './request-words.js';
import { ToolError } from './tool.types.js';

const MAX_MB = 20;
const MAX_TOKENS = 1000;
/** The most that a question has. */
const TOKENS_PER_CHARACTER = 3;
/** Tokens of the message around it, and of the question that stands in for none. */
const AROUND = 20;
const PICTURE_URL = /\.(?:png|jpe?g|webp)(?:[?#]|$)/i;
const TYPES = new Set(['image/jpeg', 'image/png', 'image/webp']);

/** Contract 4.8: looks at a picture with a vision model; its price is the tool's credits and nothing else (decisions 2). */
export const analyzeImage = defineTool({
  id: 'analyze_image',
  description: 'Look at a picture at an http(s) address and answer a question about it.',
  credits: 5,
  timeoutMs: 120_000,
  input: z.object({
    image: z.string().trim().min(1).describe('Address of a JPEG, PNG or WebP picture'),
    question: z.string().max(2000).default('Describe this picture.'),
  }),
  sandbox: {
    gathers: true,
    claims: { url: (url) => PICTURE_URL.test(url) },
    thought: 'There is a picture to look at: I analyse it.',
    fits: ({ text, url }) => url !== null && (PICTURE.test(text) || PICTURE_URL.test(url)),
    input: ({ url, topic }) => ({ image: url, question: topic }),
    heading: 'What the picture shows',
  },
  costs({ question }, { principal: caller, model: own }, { models }) {
    const model = visionModel(models, own);
    const promptTokens = model.imageTokens + TOKENS_PER_CHARACTER * question.length + AROUND;
    const most = costBound({ models, caller }, model, { promptTokens, maxTokens: MAX_TOKENS });
    return { model: model.id, most };
  },
  async run({ image, question }, context, { inputs, models, caller }) {
    const { orgId, signal, meter, tally, temperature } = context;
    const { bytes, contentType } = await inputs.fetch({
      orgId,
      value: image,
      field: 'image',
      maxMb: MAX_MB,
      signal,
    });
    if (contentType === null || !TYPES.has(contentType)) throw new ToolError('The address holds no picture');
    const requested = question.trim() === '' ? 'Describe this picture.' : question;
    const url = `data:${contentType};base64,${bytes.toString('base64')}`;
    const content = [
      { type: 'text', text: requested },
      { type: 'image_url', image_url: { url } },
    ];
    const { answer } = await caller({
      model: visionModel(models, context.model),
      prompt: { messages: [{ role: 'user', content }], texts: [requested], images: 1 },
      body: { temperature },
      maxTokens: MAX_TOKENS,
      meter,
      signal,
      metered: false,
      tally,
    });
    return { output: { description: answer.text }, text: answer.text, source: 'picture' };
  },
});

/** The agent's own model where it can see, else the first that can. */
function visionModel(models: ModelCatalogue, own: Model): Model {
  const sees = (model: Model) => model.modalities.input.includes('image');
  if (sees(own)) return own;
  const found = models.list({ type: 'chat', available: true }).find(sees);
  if (found === undefined) throw new ToolError('No model here can look at pictures');
  return found;
}
