/** The sandbox's sound process (see sound.ts): speaks, plays and listens. Ends with its parent. */
import { decodeMono, encodeMp3, encodeSpeech, encodeWav, probe } from '../../audio/child-index.js';
import { answerTasks } from '../../processes/index.js';
import { compose } from '../compose/compose.js';
import { planMusic } from '../compose/plan.js';
import { varySource } from '../compose/vary.js';
import { fingerprintOfSpeech } from '../listen/speech-fingerprint.js';
import { transcribe } from '../listen/transcribe.js';
import { writeMark } from '../voice/mark.js';
import { speak } from '../voice/speak.js';
import { voiceProfileOf } from '../voice/voice-profile.js';
import { presetShape, profileShape } from '../voice/voices.js';
import type { ComposeTask, SoundTask, SpeakTask } from './sound.types.js';

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
  const bytes = await encodeSpeech(samples, format, (partLength) => writeMark({ text }, partLength));
  return {
    bytes,
    durationSeconds: samples.pcm.length / samples.sampleRate,
    fingerprint: fingerprintOfSpeech(samples),
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

answerTasks<SoundTask>(async (task, onProgress) => {
  switch (task.kind) {
    case 'speak':
      return await runSpeak(task, onProgress);
    case 'transcribe':
      return await transcribe(task, onProgress);
    case 'compose':
      return await runCompose(task, onProgress);
  }
});
