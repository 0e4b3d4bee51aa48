import type { Api } from '../data/api.js';
import { graphql } from '../data/graphql.js';
import type { Field, Values } from './fields.js';

/** A kind of generation that runs as a job. */
export interface JobKind {
  /** The name of its tab and of the type of its models. */
  name: 'image' | 'image_edit' | 'video' | 'music' | 'tts' | 'stt';
  label: string;
  /** The text of the button. */
  verb: string;
  fields: readonly Field[];
  /** Its path below /api/v1, its field of `Mutation`, and its field of `EstimateInput`. */
  path: string;
  mutation: string;
  estimate: 'image' | 'imageEdit' | 'video' | 'music' | 'speech' | 'transcription';
  inputType: string;
  /** The title of an entry in the history. */
  title(values: Values): string;
  /** Starts the job. @returns the id of the job */
  start(api: Api, input: never): Promise<string>;
}

const IMAGE = graphql(`
  mutation PlayImage($input: GenerateImageInput!) {
    generateImage(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);
const EDIT = graphql(`
  mutation PlayImageEdit($input: EditImageInput!) {
    editImage(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);
const VIDEO = graphql(`
  mutation PlayVideo($input: GenerateVideoInput!) {
    generateVideo(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);
const MUSIC = graphql(`
  mutation PlayMusic($input: GenerateMusicInput!) {
    generateMusic(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);
const SPEECH = graphql(`
  mutation PlaySpeech($input: CreateSpeechInput!) {
    createSpeech(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);
const TRANSCRIPTION = graphql(`
  mutation PlayTranscription($input: CreateTranscriptionInput!) {
    createTranscription(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);

const PICTURES = 'image/png,image/jpeg,image/webp';
const SOUNDS = 'audio/*,video/webm,.mp3,.wav,.m4a,.flac,.ogg,.webm';

const prompt = (placeholder: string): Field => ({
  kind: 'text',
  name: 'prompt',
  label: 'Prompt',
  rows: 4,
  placeholder,
  isRequired: true,
});
const negative: Field = { kind: 'text', name: 'negativePrompt', label: 'Not in it', placeholder: 'Optional' };
const seed: Field = {
  kind: 'number',
  name: 'seed',
  label: 'Seed',
  min: 0,
  max: 2 ** 31,
  placeholder: 'Random',
};

const is =
  (name: string, ...values: readonly string[]) =>
  (entered: Values): boolean =>
    values.includes(entered[name] ?? '');

const EDITS = [
  'inpainting',
  'objectRemoval',
  'outpainting',
  'backgroundRemoval',
  'backgroundReplace',
  'superResolution',
  'faceEnhancement',
  'colorization',
  'styleTransfer',
];

const image: JobKind = {
  name: 'image',
  label: 'Images',
  verb: 'Generate',
  path: 'images/generations',
  mutation: 'generateImage',
  estimate: 'image',
  inputType: 'GenerateImageInput',
  title: ({ prompt: text = '' }) => text,
  start: async (api, input) => (await api.request(IMAGE, { input })).generateImage.job.id,
  fields: [
    prompt('A dam in the morning light'),
    {
      kind: 'choice',
      name: 'size',
      label: 'Size',
      choices: ['1024x1024', '512x512', '1792x1024', '1024x1792', '1536x1024', '1024x1536'],
      usual: '1024x1024',
    },
    { kind: 'number', name: 'n', label: 'How many', min: 1, max: 10, placeholder: '1' },
    { kind: 'choice', name: 'style', label: 'Style', choices: ['', 'vivid', 'natural'] },
    { kind: 'choice', name: 'upscale', label: 'Upscale', choices: ['', '2x', '4x'] },
    negative,
    seed,
  ],
};

const edit: JobKind = {
  name: 'image_edit',
  label: 'Edits',
  verb: 'Edit',
  path: 'images/edits',
  mutation: 'editImage',
  estimate: 'imageEdit',
  inputType: 'EditImageInput',
  title: ({ operation = '', prompt: text = '' }) => (text === '' ? operation : `${operation}: ${text}`),
  start: async (api, input) => (await api.request(EDIT, { input })).editImage.job.id,
  fields: [
    { kind: 'choice', name: 'operation', label: 'Operation', choices: EDITS, usual: 'inpainting' },
    { kind: 'file', name: 'image', label: 'Picture', accept: PICTURES, isRequired: true },
    {
      kind: 'mask',
      name: 'mask',
      label: 'Area to edit',
      of: 'image',
      isRequired: true,
      when: is('operation', 'inpainting', 'objectRemoval'),
    },
    {
      kind: 'text',
      name: 'prompt',
      label: 'What to paint',
      rows: 3,
      isRequired: true,
      when: is('operation', 'inpainting', 'styleTransfer'),
    },
    {
      kind: 'text',
      name: 'newBackground',
      label: 'New background',
      rows: 3,
      isRequired: true,
      when: is('operation', 'backgroundReplace'),
    },
    {
      kind: 'choice',
      name: 'direction',
      label: 'Side to extend',
      choices: ['all', 'left', 'right', 'top', 'bottom'],
      usual: 'all',
      when: is('operation', 'outpainting'),
    },
    {
      kind: 'number',
      name: 'expandPixels',
      label: 'By how many pixels',
      min: 1,
      max: 2048,
      placeholder: '256',
      when: is('operation', 'outpainting'),
    },
    {
      kind: 'number',
      name: 'scale',
      label: 'Factor',
      min: 2,
      max: 4,
      step: 2,
      placeholder: '2',
      when: is('operation', 'superResolution'),
    },
    { kind: 'number', name: 'strength', label: 'Strength', min: 0, max: 1, step: 0.05, placeholder: '0.95' },
  ],
};

const video: JobKind = {
  name: 'video',
  label: 'Video',
  verb: 'Generate',
  path: 'videos/generations',
  mutation: 'generateVideo',
  estimate: 'video',
  inputType: 'GenerateVideoInput',
  title: ({ prompt: text = '' }) => text,
  start: async (api, input) => (await api.request(VIDEO, { input })).generateVideo.job.id,
  fields: [
    prompt('Water falls over a weir, slowly'),
    {
      kind: 'choice',
      name: 'mode',
      label: 'From',
      choices: ['text_to_video', 'image_to_video', 'video_to_video'],
      usual: 'text_to_video',
    },
    {
      kind: 'file',
      name: 'sourceImage',
      label: 'Picture',
      accept: PICTURES,
      isRequired: true,
      when: is('mode', 'image_to_video'),
    },
    {
      kind: 'file',
      name: 'sourceVideo',
      label: 'Film',
      accept: 'video/mp4,video/webm,video/quicktime',
      isRequired: true,
      when: is('mode', 'video_to_video'),
    },
    { kind: 'number', name: 'durationSeconds', label: 'Seconds', min: 1, max: 60, placeholder: '5' },
    { kind: 'choice', name: 'resolution', label: 'Resolution', choices: ['', '720p', '1080p', '4k'] },
    {
      kind: 'choice',
      name: 'aspectRatio',
      label: 'Shape',
      choices: ['', '16:9', '9:16', '1:1', '4:3', '3:4'],
    },
    negative,
    seed,
  ],
};

const music: JobKind = {
  name: 'music',
  label: 'Music',
  verb: 'Compose',
  path: 'music/generations',
  mutation: 'generateMusic',
  estimate: 'music',
  inputType: 'GenerateMusicInput',
  title: ({ prompt: text = '' }) => text,
  start: async (api, input) => (await api.request(MUSIC, { input })).generateMusic.job.id,
  fields: [
    prompt('A calm piano over running water'),
    {
      kind: 'choice',
      name: 'mode',
      label: 'From',
      choices: ['text_to_music', 'audio_to_audio'],
      usual: 'text_to_music',
    },
    {
      kind: 'file',
      name: 'sourceAudio',
      label: 'Recording',
      accept: SOUNDS,
      canRecord: true,
      isRequired: true,
      when: is('mode', 'audio_to_audio'),
    },
    { kind: 'number', name: 'durationSeconds', label: 'Seconds', min: 1, max: 60, placeholder: '30' },
    { kind: 'choice', name: 'outputFormat', label: 'Format', choices: ['', 'mp3', 'wav'] },
    negative,
  ],
};

const speech: JobKind = {
  name: 'tts',
  label: 'Speech',
  verb: 'Speak',
  path: 'audio/speech',
  mutation: 'createSpeech',
  estimate: 'speech',
  inputType: 'CreateSpeechInput',
  title: ({ input = '' }) => input,
  start: async (api, input) => (await api.request(SPEECH, { input })).createSpeech.job.id,
  fields: [
    {
      kind: 'text',
      name: 'input',
      label: 'Text',
      rows: 5,
      placeholder: 'The water is high today.',
      isRequired: true,
    },
    {
      kind: 'choice',
      name: 'voice',
      label: 'Voice',
      choices: ['', 'alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'],
    },
    { kind: 'number', name: 'speed', label: 'Speed', min: 0.25, max: 4, step: 0.05, placeholder: '1' },
    { kind: 'choice', name: 'responseFormat', label: 'Format', choices: ['', 'mp3', 'wav', 'opus', 'aac'] },
    { kind: 'file', name: 'referenceAudio', label: 'A voice to imitate', accept: SOUNDS, canRecord: true },
  ],
};

const transcription: JobKind = {
  name: 'stt',
  label: 'Transcription',
  verb: 'Transcribe',
  path: 'audio/transcriptions',
  mutation: 'createTranscription',
  estimate: 'transcription',
  inputType: 'CreateTranscriptionInput',
  title: ({ language = '' }) => (language === '' ? 'A recording' : `A recording (${language})`),
  start: async (api, input) => (await api.request(TRANSCRIPTION, { input })).createTranscription.job.id,
  fields: [
    { kind: 'file', name: 'file', label: 'Recording', accept: SOUNDS, canRecord: true, isRequired: true },
    { kind: 'text', name: 'language', label: 'Language', placeholder: 'Found by itself' },
    { kind: 'check', name: 'diarization', label: 'Tell the speakers apart' },
    { kind: 'check', name: 'translation', label: 'Translate into English' },
  ],
};

export const JOB_KINDS: readonly JobKind[] = [image, edit, video, music, speech, transcription];
