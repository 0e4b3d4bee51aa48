import type { InputFetcher } from '../files/index.js';
import {
  createImageEditKind,
  createImageKind,
  createMusicKind,
  createSpeechKind,
  createSpokenTexts,
  createTranscriptionKind,
  createVideoKind,
} from '../generation/index.js';
import type { Foundation } from './foundation.js';

/** The kinds of generation: each is a row of `jobs` with a tool of its own. */
export function generationKinds(foundation: Foundation, inputs: InputFetcher) {
  const { models, providers, audio, imaging, video, logger } = foundation;
  const options = {
    models,
    providers,
    files: foundation.files.service,
    inputs,
    audio,
    imaging,
    video,
    spoken: createSpokenTexts(foundation.database),
    logger,
  };
  return [
    createImageKind(options),
    createImageEditKind(options),
    createSpeechKind(options),
    createTranscriptionKind(options),
    createMusicKind(options),
    createVideoKind(options),
  ];
}
