import { UnreadableAudioError } from '../audio.types.js';
import type { AudioFacts } from '../audio.types.js';
import { decodeAudio } from './decode.js';
import { packetSeconds } from './packet-seconds.js';
import type { Probed } from './probe.js';

/** A little over the longest that anybody may send: what goes on is too long, whatever it goes on to. */
const LONGEST_SECONDS = 14_401;
/** So much is decoded of what can be counted by its packets too: a second or two of work. */
const DECODED_SECONDS = 120;
/** Samples of all channels that are decoded to count them: four hours of stereo at 48 kHz. */
const MOST_SAMPLES = LONGEST_SECONDS * 48_000 * 2;

/**
 * How long a file sounds: what comes out of a decoder is counted, and not kept. Containers tell lengths, rates of packets and times too, and
 * every one of them can be a lie, or was left empty by a program that could not go back and write it. What sounds longer than some minutes is
 * counted by what its packets are made of.
 * @throws UnreadableAudioError for what has no sound, and for what takes more to decode than is spent on it
 */
export async function measure(
  bytes: Uint8Array,
  probed: Probed,
): Promise<Pick<AudioFacts, 'durationSeconds' | 'readable'>> {
  const counted = await packetSeconds(bytes, probed);
  const most = counted === null ? LONGEST_SECONDS : DECODED_SECONDS;
  const decoded = await decodedSeconds(bytes, probed, most);
  const isWhole = decoded !== null && decoded <= most;
  const durationSeconds = isWhole ? decoded : Math.max(decoded ?? 0, counted ?? probed.claimedSeconds);
  if (!(durationSeconds > 0)) throw new UnreadableAudioError('audio without samples');
  // Sums of seconds are a hair off: three seconds are not to cost four.
  return { durationSeconds: Math.round(durationSeconds * 1e6) / 1e6, readable: decoded !== null };
}

/** Null for what cannot be decoded: known codecs too have forms that are not. */
async function decodedSeconds(bytes: Uint8Array, probed: Probed, most: number): Promise<number | null> {
  let [seconds, samples] = [0, 0];
  try {
    for await (const { channels, sampleRate } of decodeAudio(bytes, probed, most)) {
      const length = channels[0]?.length ?? 0;
      seconds += length / sampleRate;
      samples += length * channels.length;
      if (samples > MOST_SAMPLES) throw new UnreadableAudioError('too much to decode');
    }
    return seconds;
  } catch (error) {
    if (!(error instanceof UnreadableAudioError) || seconds > 0) throw error;
    return null;
  }
}
