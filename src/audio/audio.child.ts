/** The audio process (see audio.ts): reads untrusted files and converts upstreams' files. Ends with its parent. */
import { answerTasks } from '../processes/index.js';
import type { AudioTask, ProbeReply } from './audio.types.js';
import { decodeMono } from './decode/decode.js';
import { measure } from './decode/measure.js';
import { probe } from './decode/probe.js';
import { withTrueSizes } from './decode/true-file.js';
import { encodeSpeech } from './encode/encode.js';

/** Longest upstream speech that is converted. */
const MAX_CONVERTED_SECONDS = 3600;

answerTasks<AudioTask>(async (task) => {
  const bytes = withTrueSizes(task.bytes);
  const probed = await probe(bytes);
  if (task.kind === 'probe') {
    const { contentType, sampleRate, channels } = probed;
    const repaired = bytes === task.bytes ? null : bytes;
    const measured = await measure(bytes, probed);
    return { contentType, sampleRate, channels, ...measured, repaired } satisfies ProbeReply;
  }
  const samples = await decodeMono(bytes, probed, MAX_CONVERTED_SECONDS);
  return {
    bytes: await encodeSpeech(samples, task.format, null),
    durationSeconds: samples.pcm.length / samples.sampleRate,
  };
});
