import type { JsonSchema } from '../route.types.js';

const GIVEN: JsonSchema = { type: 'string', pattern: '\\S' };
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
