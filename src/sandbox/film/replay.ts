import { VideoSampleSink } from 'mediabunny';
import type { VideoSample } from 'mediabunny';
import type { Backdrop } from './camera.js';
import { openSource, planesOf, planesOfSample } from '../../video/child-index.js';
import type { Planes, Size } from '../../video/child-index.js';
import { createScaler } from './scale.js';
import { UnreadableVideoError } from '../../video/index.js';

/** Times in the source for each frame: at its own speed, again from its start where it is shorter. */
function* timesOf(start: number, seconds: number, { frames, fps }: { frames: number; fps: number }) {
  for (let frame = 0; frame < frames; frame++) yield start + ((frame / fps) % seconds);
}

/**
 * The frames of another video, at this one's size and rate.
 * @throws UnreadableVideoError, also while it plays
 */
export async function createReplay(
  bytes: Uint8Array,
  target: Size & { frames: number; fps: number },
): Promise<Backdrop> {
  const { track, facts } = await openSource(bytes);
  if (!facts.readable) throw new UnreadableVideoError('its codec is not known here');
  const start = Math.max(0, await track.getFirstTimestamp());
  const times = timesOf(start, facts.durationSeconds, target);
  const samples = new VideoSampleSink(track).samplesAtTimestamps(times)[Symbol.asyncIterator]();
  let scale: { from: Size; run: ReturnType<typeof createScaler> } | undefined;

  const show = async (sample: VideoSample, to: Planes) => {
    const source = await planesOfSample(sample);
    if (scale?.from.width !== source.width || scale.from.height !== source.height)
      scale = { from: { width: source.width, height: source.height }, run: createScaler(source, to) };
    scale.run(source, to);
  };
  // The last picture stays where the source has a gap; the frame is drawn over, so it is kept apart.
  const kept = planesOf(target);
  return async (to) => {
    const { value } = await nextOf(samples);
    if (value != null) {
      try {
        await show(value, kept);
      } finally {
        value.close();
      }
    }
    kept.bytes.copy(to.bytes);
  };
}

async function nextOf(samples: AsyncIterator<VideoSample | null, void>) {
  try {
    return await samples.next();
  } catch (error) {
    throw new UnreadableVideoError(error instanceof Error ? error.message : 'unreadable');
  }
}
