import { registerFlacEncoder } from '@mediabunny/flac-encoder';
import { AudioSample, AudioSampleSource, BufferTarget, FlacOutputFormat, Output } from 'mediabunny';

let registered = false;

/** Mono FLAC. */
export async function encodeFlac(pcm: Float32Array, sampleRate: number): Promise<Buffer> {
  if (!registered) registerFlacEncoder();
  registered = true;
  const target = new BufferTarget();
  const output = new Output({ format: new FlacOutputFormat(), target });
  const source = new AudioSampleSource({ codec: 'flac' });
  output.addAudioTrack(source);
  await output.start();
  for (let at = 0; at < pcm.length; at += sampleRate) {
    const sample = new AudioSample({
      data: pcm.slice(at, at + sampleRate),
      format: 'f32-planar',
      numberOfChannels: 1,
      sampleRate,
      timestamp: at / sampleRate,
    });
    await source.add(sample);
    sample.close();
  }
  await output.finalize();
  if (target.buffer === null) throw new Error('The FLAC encoder wrote nothing');
  return Buffer.from(target.buffer);
}
