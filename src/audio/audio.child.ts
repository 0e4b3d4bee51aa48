/** The audio process (see audio.ts): speaks, listens, composes, and reads strangers' files. Ends with its parent. */
import { answerTasks } from '../processes/index.js';
import type { AudioTask, ComposeTask, ConvertTask, SpeakTask } from './audio.types.js';
import { compose } from './compose/compose.js';
import { planMusic } from './compose/plan.js';
import { varySource } from './compose/vary.js';
import { decodeMono } from './decode/decode.js';
import { measure } from './decode/measure.js';
import { probe } from './decode/probe.js';
import { encodeMp3 } from './encode/mp3.js';
import { encodeWav } from './encode/wav.js';
import { encodeSpeech } from './encode/encode.js';
import { fingerprintOfSpeech } from './listen/speech-fingerprint.js';
import { transcribe } from './listen/transcribe.js';
import { voiceProfileOf } from './voice/voice-profile.js';
import { speak } from './voice/speak.js';
import { profileShape, presetShape } from './voice/voices.js';

/** Longest upstream speech that is converted. */
const MAX_CONVERTED_SECONDS = 3600;
/** Speaking counts as so much of the whole; the rest is encoding. */
const SPEAKING_SHARE = 85;
const PLAYING_SHARE = 70;

type Progress = (percent: number) => void;

async function runSpeak(task: SpeakTask, onProgress: Progress) {
  const { text, voice, engine, reference, speed, seed, format } = task;
  const shape = reference
    ? profileShape(await voiceProfileOf(reference.bytes, reference.text), engine)
    : presetShape(voice ?? 'nova', engine);
  const samples = await speak({ text, shape, speed, seed }, (percent) =>
    onProgress((percent * SPEAKING_SHARE) / 100),
  );
  const bytes = await encodeSpeech(samples, format, { text });
  return {
    bytes,
    durationSeconds: samples.pcm.length / samples.sampleRate,
    print: fingerprintOfSpeech(samples),
  };
}

async function runConvert({ bytes, format }: ConvertTask) {
  const probed = await probe(bytes);
  const samples = await decodeMono(bytes, probed, MAX_CONVERTED_SECONDS);
  return {
    bytes: await encodeSpeech(samples, format, null),
    durationSeconds: samples.pcm.length / samples.sampleRate,
  };
}

async function runCompose(task: ComposeTask, onProgress: Progress) {
  const { prompt, negativePrompt, seed, seconds, source, format } = task;
  const plan = planMusic({ prompt, negativePrompt, seed });
  const played = compose(plan, seconds, (percent) => onProgress((percent * PLAYING_SHARE) / 100));
  const mix = source === null ? played : await varied(source, { plan, played, seconds });
  onProgress(PLAYING_SHARE);
  const channels = [mix.left, mix.right];
  const bytes =
    format === 'wav'
      ? encodeWav(channels, mix.sampleRate, null)
      : await encodeMp3(channels, mix.sampleRate, { bitrate: 192, comment: null });
  return { bytes, durationSeconds: mix.left.length / mix.sampleRate };
}

async function varied(source: Uint8Array, work: Parameters<typeof varySource>[1]) {
  const decoded = await decodeMono(source, await probe(source), work.seconds);
  return varySource(decoded, work);
}

answerTasks<AudioTask>(async (task, onProgress) => {
  switch (task.kind) {
    case 'speak':
      return await runSpeak(task, onProgress);
    case 'probe': {
      const { contentType, sampleRate, channels, ...probed } = await probe(task.bytes);
      const measured = await measure(task.bytes, { contentType, sampleRate, channels, ...probed });
      return { contentType, sampleRate, channels, ...measured };
    }
    case 'transcribe':
      return await transcribe(task, onProgress);
    case 'compose':
      return await runCompose(task, onProgress);
    case 'convert':
      return await runConvert(task);
  }
});
