import { amazonBedrock } from './amazon-bedrock.js';
import { anthropic } from './anthropic.js';
import { assemblyai } from './assemblyai.js';
import { azure } from './azure.js';
import { cohere } from './cohere.js';
import { deepgram } from './deepgram.js';
import { deepseek } from './deepseek.js';
import { elevenlabs } from './elevenlabs.js';
import { fal } from './fal.js';
import { fireworks } from './fireworks.js';
import { google } from './google.js';
import { groq } from './groq.js';
import { luma } from './luma.js';
import { mistral } from './mistral.js';
import type { NativeProvider } from './native-provider.types.js';
import { openai } from './openai.js';
import { replicate } from './replicate.js';
import { togetherai } from './togetherai.js';
import { xai } from './xai.js';

/** All native providers. If two offer the same model, the earlier one gets it. */
export const NATIVE_PROVIDERS: readonly NativeProvider[] = [
  openai,
  anthropic,
  google,
  mistral,
  groq,
  xai,
  deepseek,
  azure,
  amazonBedrock,
  cohere,
  togetherai,
  fireworks,
  replicate,
  fal,
  luma,
  elevenlabs,
  deepgram,
  assemblyai,
];

const byId = new Map(NATIVE_PROVIDERS.map((native) => [native.id, native]));

/** The native provider of a kind; null for `openai-compatible`. */
export const nativeProvider = (kind: string): NativeProvider | null => byId.get(kind) ?? null;
