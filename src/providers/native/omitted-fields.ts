import type { ModelType } from '../../contract/words.js';
import { fieldsWithout, keyWithout } from '../openai-compatible/optional-fields.js';
import type { LeftOut, OptionalFields } from '../openai-compatible/optional-fields.js';
import type { OrderLog } from '../order.types.js';
import type { TranscriptionCall } from '../stt.types.js';
import type { NativeProvider, SttWays } from './native-provider.types.js';

/** Fields of a chat request that native APIs have, with the native names where they differ. */
export const CHAT_WORDS: OptionalFields = {
  temperature: [],
  top_p: ['topP', 'p'],
  frequency_penalty: ['frequencyPenalty'],
  presence_penalty: ['presencePenalty'],
  seed: [],
  reasoning_effort: ['thinking', 'thinkingConfig'],
  stop: ['stop_sequences', 'stopSequences'],
  response_format: ['responseMimeType', 'responseSchema'],
  tool_choice: ['toolChoice', 'toolConfig'],
  parallel_tool_calls: [],
};

/** Optional fields of images: Penstock itself scales images to their size. */
export const IMAGE_WORDS: OptionalFields = {
  size: ['aspect_ratio', 'aspectRatio', 'image_size', 'imageSize', 'width', 'height'],
};

/** Optional fields of speech: Penstock itself converts audio to its format. */
export const SPEECH_WORDS: OptionalFields = {
  response_format: [
    'output_format',
    'outputFormat',
    'encoding',
    'container',
    'sample_rate',
    'bit_rate',
    'audio_format',
  ],
};

type Settings = ReturnType<NonNullable<SttWays['settings']>>;

/** Converts the name of a package's option to its name in requests. */
const wireName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const named = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [wireName(name), value]));

/** Settings of a transcription that the caller did not ask for. */
export function optionalSettings({ settings }: SttWays, call: TranscriptionCall): OptionalFields {
  // Times and speakers matter only if the caller asked for them.
  if (settings === undefined || call.words || call.diarization) return {};
  const added = named(settings({ ...call, language: null, diarization: false }));
  const sent = named(settings(call));
  return Object.fromEntries(
    Object.entries(added).flatMap(([name, value]) => (sent[name] === value ? [[name, [name]]] : [])),
  );
}

/** A package's options without those that it sends under the given names. */
export function settingsWithout(settings: Settings, without: LeftOut): Settings {
  const left = Object.keys(settings).filter((name) => without.has(wireName(name)));
  return fieldsWithout(settings, new Set(left));
}

/** The order log of a request that is sent again without some fields. */
export function ordersWithout(log: OrderLog | undefined, without: LeftOut): OrderLog | undefined {
  if (log === undefined || without.size === 0) return log;
  return {
    key: keyWithout(log.key, without) as string,
    earlier: () => log.earlier(),
    held: () => log.held(),
    placed: (reference) => log.placed(reference),
    withdrawn: (reference) => log.withdrawn(reference),
    isHandedOver: () => log.isHandedOver(),
  };
}

const PLAIN_CALL: TranscriptionCall = {
  audio: Buffer.alloc(0),
  mediaType: 'audio/wav',
  durationSeconds: 0,
  language: null,
  words: false,
  diarization: false,
  translation: false,
  modelInputs: {},
  signal: new AbortController().signal,
};

/** Which fields an entry of a native provider may omit, by the type of the model: those that Penstock sets. */
export function omittableFields({ package: made, stt }: NativeProvider, type: ModelType): string[] {
  const does = new Set(made?.does ?? []);
  if (type === 'chat' && does.has('chat')) return Object.keys(CHAT_WORDS);
  if (type === 'image' && does.has('image')) return Object.keys(IMAGE_WORDS);
  if (type === 'tts' && does.has('tts')) return Object.keys(SPEECH_WORDS);
  if (type !== 'stt' || stt?.settings === undefined) return [];
  const [plain, speakers] = [PLAIN_CALL, { ...PLAIN_CALL, diarization: true, language: 'en' }].map((call) =>
    Object.keys(stt.settings!(call)),
  );
  return [...new Set([...plain!, ...speakers!])].map(wireName);
}
