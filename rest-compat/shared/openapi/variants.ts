import type { JsonSchema } from '../route.types.js';

/** A text that is not blank; of other types only what the field itself allows. */
const GIVEN: JsonSchema = { not: { type: 'null' }, pattern: '\\S' };
const ABSENT: JsonSchema = { type: 'null' };

/** One form of a body: its required fields and its forbidden fields. */
interface Variant {
  words: (string | null)[];
  needs?: string[];
  refuses?: string[];
}

/** The forms of a body, which depend on a field such as `operation` or `mode`. The form with the word null is used if the field is absent. */
function byField(field: string, variants: Variant[]): JsonSchema {
  const anyOf = variants.map(({ words, needs = [], refuses = [] }) => ({
    properties: {
      [field]: { enum: words },
      ...Object.fromEntries(needs.map((name) => [name, GIVEN])),
      ...Object.fromEntries(refuses.map((name) => [name, ABSENT])),
    },
    required: words.includes(null) ? needs : [field, ...needs],
  }));
  return { anyOf };
}

const EXTRAS = ['mask', 'prompt', 'direction', 'expand_pixels', 'new_background', 'scale'];
const edit = (words: string[], needs: string[], takes: string[] = []): Variant => ({
  words,
  needs,
  refuses: EXTRAS.filter((name) => ![...needs, ...takes].includes(name)),
});

/** Contract 4.3. */
export const EDIT_FORMS = byField('operation', [
  edit(['inpainting'], ['mask', 'prompt']),
  edit(['outpainting'], ['direction'], ['expand_pixels', 'prompt']),
  edit(['backgroundReplace'], ['new_background']),
  edit(['objectRemoval'], ['mask']),
  edit(['superResolution'], [], ['scale']),
  edit(['styleTransfer'], ['prompt']),
  edit(['backgroundRemoval', 'faceEnhancement', 'colorization'], []),
]);

/** The fields of an edit at /v1 that not every operation reads. Prompts are accepted for all, as the convention requires one for every edit. */
const EXTRAS_AT_V1 = ['mask', 'direction', 'expand_pixels', 'scale'];
const atV1 = (words: (string | null)[], needs: string[], takes: string[] = []): Variant => ({
  words,
  needs,
  refuses: EXTRAS_AT_V1.filter((name) => ![...needs, ...takes].includes(name)),
});
const OPAQUE: JsonSchema = { properties: { background: { not: { const: 'transparent' } } } };
const SEE_THROUGH: JsonSchema = { properties: { output_format: { not: { const: 'jpeg' } } } };

/** beyond 11.4: without an operation, the mask decides between inpainting and styleTransfer. */
export const EDIT_FORMS_AT_V1: JsonSchema = {
  allOf: [
    byField('operation', [
      atV1(['styleTransfer', null], ['prompt']),
      atV1(['inpainting', null], ['mask', 'prompt']),
      atV1(['outpainting'], ['direction'], ['expand_pixels']),
      atV1(['backgroundReplace'], ['new_background']),
      atV1(['backgroundReplace'], ['prompt']),
      atV1(['objectRemoval'], ['mask']),
      atV1(['superResolution'], [], ['scale']),
      atV1(['backgroundRemoval', 'faceEnhancement', 'colorization'], []),
    ]),
    {
      if: { properties: { operation: { const: 'backgroundRemoval' } }, required: ['operation'] },
      then: SEE_THROUGH,
      else: OPAQUE,
    },
  ],
};

/** Contract 4.4. */
export const VIDEO_FORMS = byField('mode', [
  { words: ['text_to_video', null], refuses: ['source_image', 'source_video'] },
  { words: ['image_to_video'], needs: ['source_image'], refuses: ['source_video'] },
  { words: ['video_to_video'], needs: ['source_video'], refuses: ['source_image'] },
]);

/** Contract 4.5. */
export const MUSIC_FORMS = byField('mode', [
  { words: ['text_to_music', null], refuses: ['source_audio'] },
  { words: ['audio_to_audio'], needs: ['source_audio'] },
]);

/** Contract 4.6: a transcript needs its sample. */
export const SPEECH_FORMS: JsonSchema = {
  anyOf: [
    { properties: { reference_text: { enum: [null, ''] } } },
    { properties: { reference_audio: GIVEN }, required: ['reference_audio'] },
  ],
};
