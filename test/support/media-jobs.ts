import sharp from 'sharp';
import { waveOf } from './audio.js';

export interface MediaJob {
  tool: string;
  path: string;
  body: object;
}

/** A small job of every tool; each waits at least the given time before its work begins. */
export async function mediaJobs(delayMs = 0): Promise<MediaJob[]> {
  const directive = `@sandbox{"delay_ms": ${delayMs}}`;
  const image = (
    await sharp({ create: { width: 64, height: 64, channels: 3, background: '#336699' } })
      .jpeg()
      .toBuffer()
  ).toString('base64');
  const tone = Int16Array.from(
    { length: 32_000 },
    (_, at) => 8000 * Math.sin((at * 2 * Math.PI * 180) / 16_000),
  );
  return [
    { tool: 'image', path: '/images/generations', body: { prompt: `a mill ${directive}`, size: '512x512' } },
    {
      tool: 'image_edit',
      path: '/images/edits',
      body: { image, operation: 'styleTransfer', prompt: `ink ${directive}` },
    },
    {
      tool: 'video',
      path: '/videos/generations',
      body: { prompt: `a mill ${directive}`, duration_seconds: 1, aspect_ratio: '1:1' },
    },
    { tool: 'music', path: '/music/generations', body: { prompt: `calm ${directive}`, duration_seconds: 3 } },
    { tool: 'tts', path: '/audio/speech', body: { input: `Hello there. ${directive}` } },
    {
      tool: 'stt',
      path: '/audio/transcriptions',
      body: { file: waveOf(tone).toString('base64'), model_inputs: { directive } },
    },
  ];
}
