import { Input, MATROSKA, MP4, QTFF, VideoSampleSink, WEBM } from 'mediabunny';
import type { InputVideoTrack } from 'mediabunny';
import { watchedSource } from '../media/watched-source.js';
import { UnreadableVideoError } from './video.types.js';
import type { VideoFacts } from './video.types.js';
import { loadCodecs } from './codecs.js';
import { planesOfSample } from './sample.js';

const CONTAINERS = [MP4, QTFF, WEBM, MATROSKA];
/** 4k, either way up. */
const MAX_PIXELS = 4096 * 2304;

export interface OpenedSource {
  input: Input;
  track: InputVideoTrack;
  facts: VideoFacts;
}

async function describe(input: Input): Promise<OpenedSource> {
  const track = await input.getPrimaryVideoTrack();
  if (track === null) throw new UnreadableVideoError('there is no video in it');
  const { displayWidth: width, displayHeight: height } = track;
  if (track.codedWidth * track.codedHeight > MAX_PIXELS)
    throw new UnreadableVideoError('its frames are too large');
  const durationSeconds = (await track.computeDuration()) - Math.max(0, await track.getFirstTimestamp());
  if (!(durationSeconds > 0) || !(width > 0) || !(height > 0))
    throw new UnreadableVideoError('it has no frames');
  const contentType = ((await input.getMimeType()).split(';', 1)[0] ?? '').trim();
  const readable = (await loadCodecs()) !== null && (await track.canDecode());
  return { input, track, facts: { contentType, width, height, durationSeconds, readable } };
}

/** @throws UnreadableVideoError */
export async function openSource(bytes: Uint8Array): Promise<OpenedSource> {
  const input = new Input({ source: watchedSource(bytes), formats: CONTAINERS });
  try {
    return await describe(input);
  } catch (error) {
    input.dispose();
    if (error instanceof UnreadableVideoError) throw error;
    throw new UnreadableVideoError(error instanceof Error ? error.message : 'unreadable');
  }
}

/** Whether the first frame can be decoded. A known codec may still have an unsupported profile. */
async function showsPicture(track: InputVideoTrack): Promise<boolean> {
  try {
    const sample = await new VideoSampleSink(track).getSample(await track.getFirstTimestamp());
    if (sample === null) return false;
    try {
      await planesOfSample(sample);
      return true;
    } finally {
      sample.close();
    }
  } catch {
    return false;
  }
}

/**
 * Reads facts about a file from its container. If the file may be readable, its first frame is decoded.
 * @param portable true: the codec package is not used, and nothing is readable
 * @throws UnreadableVideoError
 */
export async function probe(bytes: Uint8Array, portable: boolean): Promise<VideoFacts> {
  const { input, track, facts } = await openSource(bytes);
  const readable = facts.readable && !portable && (await showsPicture(track));
  input.dispose();
  return { ...facts, readable };
}
