import { createRequire } from 'node:module';
import { ALL_FORMATS, EncodedPacketSink, Input } from 'mediabunny';
import { watchedSource } from '../../watched-source.js';
import { UnreadableAudioError } from '../audio.types.js';
import { BitReader } from './bit-reader.js';
import { ELEMENT, skipElement } from './elements.js';
import type { Decoded } from '../audio.types.js';

/** The inner parts of the `aac` package (its own front needs a player framework). */
interface ChannelStream {
  info: unknown;
  data: Float32Array;
  tnsPresent: boolean;
  tns: { process(stream: ChannelStream, data: Float32Array, decode: boolean): void };
  decode(stream: BitReader, config: AacConfig, commonWindow: boolean): void;
}
interface ChannelPair {
  left: ChannelStream;
  decode(stream: BitReader, config: AacConfig): void;
}
interface FilterBank {
  process(info: unknown, data: Float32Array, output: Float32Array, channel: number): void;
}
interface AacParts {
  ics: new (config: AacConfig) => ChannelStream;
  cpe: new (config: AacConfig) => ChannelPair;
  filterBank: new (smallFrames: boolean, channels: number) => FilterBank;
  rates: ArrayLike<number>;
}
interface AacConfig {
  profile: number;
  sampleIndex: number;
  sampleRate: number;
  chanConfig: number;
  frameLength: number;
}

const LOW_COMPLEXITY = 2;
const FRAME = 1024;

let loaded: AacParts | undefined;

function load(): AacParts {
  const require = createRequire(import.meta.url);
  const tables = require('aac/src/tables.js') as { SAMPLE_RATES: ArrayLike<number> };
  return {
    ics: require('aac/src/ics.js') as AacParts['ics'],
    cpe: require('aac/src/cpe.js') as AacParts['cpe'],
    filterBank: require('aac/src/filter_bank.js') as AacParts['filterBank'],
    rates: tables.SAMPLE_RATES,
  };
}

/**
 * AAC-LC of an MP4 or ADTS file, as one channel: the only one, or the left (or middle) one of a pair.
 * @throws UnreadableAudioError for other profiles and broken packets at the start
 */
export async function* decodeAacPackets(bytes: Uint8Array): AsyncGenerator<Decoded> {
  const parts = (loaded ??= load());
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(bytes) });
  try {
    const track = await input.getPrimaryAudioTrack();
    const described = (await track?.getDecoderConfig())?.description;
    if (track === null) throw new UnreadableAudioError('no audio');
    const config = configOf(parts, {
      described,
      sampleRate: track.sampleRate,
      channels: track.numberOfChannels,
    });
    const bank = new parts.filterBank(false, 2);
    let decoded = 0;
    let broken = 0;
    for await (const packet of new EncodedPacketSink(track).packets()) {
      const channel = decodeFrame(parts, { config, bank, data: withoutHeader(packet.data) });
      if (channel === null) broken++;
      else decoded++;
      if (broken > 20 && decoded < broken) throw new UnreadableAudioError('broken AAC');
      const { sampleRate } = config;
      yield { channels: [shownPart(channel ?? new Float32Array(FRAME), packet, sampleRate)], sampleRate };
    }
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'broken AAC');
  } finally {
    input.dispose();
  }
}

/** Without what encoders put before the sound's beginning and behind its end to fill a packet: the file's times are those of the rest. */
function shownPart(
  samples: Float32Array,
  { timestamp, duration }: { timestamp: number; duration: number },
  sampleRate: number,
): Float32Array {
  const end = duration > 0 ? Math.round(duration * sampleRate) : samples.length;
  return samples.subarray(Math.max(0, Math.round(-timestamp * sampleRate)), end);
}

function configOf(
  { rates }: AacParts,
  {
    described,
    sampleRate,
    channels,
  }: { described: ArrayBufferView | ArrayBufferLike | undefined; sampleRate: number; channels: number },
): AacConfig {
  let profile = LOW_COMPLEXITY;
  let rate = sampleRate;
  if (described !== undefined) {
    const reader = new BitReader(
      ArrayBuffer.isView(described)
        ? new Uint8Array(described.buffer, described.byteOffset, described.byteLength)
        : new Uint8Array(described),
    );
    profile = reader.read(5);
    const index = reader.read(4);
    rate = index === 15 ? reader.read(24) : (rates[index] ?? sampleRate);
    // HE-AAC: its core is AAC-LC at the rate told first.
    if (profile === 5 || profile === 29) profile = LOW_COMPLEXITY;
  }
  if (profile !== LOW_COMPLEXITY) throw new UnreadableAudioError(`AAC profile ${profile}`);
  const sampleIndex = Array.from(rates).indexOf(rate);
  if (sampleIndex < 0) throw new UnreadableAudioError(`AAC at ${rate} Hz`);
  return { profile, sampleIndex, sampleRate: rate, chanConfig: channels, frameLength: FRAME };
}

/** ADTS packets come with their header. */
function withoutHeader(data: Uint8Array): Uint8Array {
  if (data[0] !== 0xff || ((data[1] ?? 0) & 0xf6) !== 0xf0) return data;
  return data.subarray(((data[1] ?? 0) & 1) === 1 ? 7 : 9);
}

interface Frame {
  config: AacConfig;
  bank: FilterBank;
  data: Uint8Array;
}

/** The first channel of one frame, −1 to 1; null where it cannot be read. */
function decodeFrame(parts: AacParts, { config, bank, data }: Frame): Float32Array | null {
  try {
    const channel = firstChannel(parts, config, new BitReader(data));
    if (channel === null) return null;
    if (channel.tnsPresent) channel.tns.process(channel, channel.data, false);
    // The library lets some coefficients of quiet frames be no numbers; through the overlap they would spoil what follows.
    channel.data.forEach((value, at) => {
      if (!Number.isFinite(value)) channel.data[at] = 0;
    });
    const output = new Float32Array(FRAME);
    bank.process(channel.info, channel.data, output, 0);
    for (let at = 0; at < FRAME; at++) output[at] = (output[at] ?? 0) / 32_768;
    return output;
  } catch {
    // One broken packet is a click in the sound, no reason to give up the rest.
    return null;
  }
}

function firstChannel({ ics, cpe }: AacParts, config: AacConfig, reader: BitReader): ChannelStream | null {
  for (;;) {
    const element = reader.read(3);
    if (element === ELEMENT.end) return null;
    const id = reader.read(4);
    if (element === ELEMENT.single) {
      const single = new ics(config);
      single.decode(reader, config, false);
      return single;
    }
    if (element === ELEMENT.pair) {
      const pair = new cpe(config);
      pair.decode(reader, config);
      return pair.left;
    }
    if (element !== ELEMENT.data && element !== ELEMENT.fill) return null;
    skipElement(reader, element, id);
  }
}
