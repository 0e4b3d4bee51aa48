import { createRequire } from 'node:module';
import { ALL_FORMATS, EncodedPacketSink, Input } from 'mediabunny';
import type { EncodedPacket, InputAudioTrack } from 'mediabunny';
import { watchedSource } from '../../media/watched-source.js';
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
    for await (const packet of packetsOf(track)) {
      const channel = decodeFrame(parts, { config, bank, data: withoutHeader(packet.data) });
      if (channel === null) broken++;
      else decoded++;
      if (broken > 20 && decoded < broken) throw new UnreadableAudioError('broken AAC');
      const { sampleRate } = config;
      const { from, to } = shownSpan(packet, sampleRate);
      yield { channels: [(channel ?? new Float32Array(FRAME)).subarray(from, to)], sampleRate };
    }
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'broken AAC');
  } finally {
    input.dispose();
  }
}

/** So much at most is left out before the sound's beginning. */
const PRIMING_SECONDS = 1;

interface PlacedPacket {
  data: Uint8Array;
  timestamp: number;
  duration: number;
  number: number;
  isLast: boolean;
}

async function* packetsOf(track: InputAudioTrack): AsyncGenerator<PlacedPacket> {
  let [number, held]: [number, EncodedPacket | null] = [0, null];
  const placed = ({ data, timestamp, duration }: EncodedPacket, isLast: boolean): PlacedPacket => {
    return { data, timestamp, duration, number: number++, isLast };
  };
  for await (const packet of new EncodedPacketSink(track).packets()) {
    if (held !== null) yield placed(held, false);
    held = packet;
  }
  if (held !== null) yield placed(held, true);
}

/**
 * Where the sound of a packet is: without what encoders put before the sound's beginning and behind its end to fill a packet. Only there are
 * the container's times believed: a file of an hour whose packets are said to last a moment is an hour.
 */
function shownSpan({ timestamp, duration, number, isLast }: PlacedPacket, sampleRate: number) {
  const within = (samples: number): number => Math.min(FRAME, Math.max(0, Math.round(samples)));
  const from = number * FRAME < PRIMING_SECONDS * sampleRate ? within(-timestamp * sampleRate) : 0;
  return { from, to: isLast && duration > 0 ? within(duration * sampleRate) : FRAME };
}

/** Samples in an ADTS frame's packet: it may hold up to four blocks. */
function blocksIn(data: Uint8Array): number {
  return isAdts(data) ? ((data[6] ?? 0) & 3) + 1 : 1;
}

/** How long AAC packets sound, whether they can be decoded here or not. @throws UnreadableAudioError */
export async function secondsOfAac(bytes: Uint8Array): Promise<number> {
  const input = new Input({ formats: ALL_FORMATS, source: watchedSource(bytes) });
  try {
    const track = await input.getPrimaryAudioTrack();
    if (track === null) throw new UnreadableAudioError('no audio');
    const described = (await track.getDecoderConfig())?.description;
    const rate = coreRate((loaded ??= load()), { described, sampleRate: track.sampleRate });
    let samples = 0;
    for await (const packet of packetsOf(track)) {
      const { from, to } = shownSpan(packet, rate);
      samples += Math.max(0, to - from) + FRAME * (blocksIn(packet.data) - 1);
    }
    return samples / rate;
  } catch (error) {
    if (error instanceof UnreadableAudioError) throw error;
    throw new UnreadableAudioError(error instanceof Error ? error.message : 'broken AAC');
  } finally {
    input.dispose();
  }
}

type Described = ArrayBufferView | ArrayBufferLike | undefined;

/** What an MP4 says of its AAC: the profile, and the rate of what is decoded; null for a file that says nothing. */
function readDescription(
  { rates }: AacParts,
  described: Described,
): { profile: number; rate?: number } | null {
  if (described === undefined) return null;
  const reader = new BitReader(
    ArrayBuffer.isView(described)
      ? new Uint8Array(described.buffer, described.byteOffset, described.byteLength)
      : new Uint8Array(described),
  );
  const profile = reader.read(5);
  const index = reader.read(4);
  const rate = index === 15 ? reader.read(24) : rates[index];
  return rate === undefined ? { profile } : { profile, rate };
}

function coreRate(parts: AacParts, { described, sampleRate }: { described: Described; sampleRate: number }) {
  const rate = readDescription(parts, described)?.rate ?? sampleRate;
  if (!(rate > 0)) throw new UnreadableAudioError('AAC without a rate');
  return rate;
}

function configOf(
  parts: AacParts,
  { described, sampleRate, channels }: { described: Described; sampleRate: number; channels: number },
): AacConfig {
  const told = readDescription(parts, described)?.profile ?? LOW_COMPLEXITY;
  // HE-AAC: its core is AAC-LC at the rate told first.
  const profile = told === 5 || told === 29 ? LOW_COMPLEXITY : told;
  const rate = coreRate(parts, { described, sampleRate });
  if (profile !== LOW_COMPLEXITY) throw new UnreadableAudioError(`AAC profile ${profile}`);
  const sampleIndex = Array.from(parts.rates).indexOf(rate);
  if (sampleIndex < 0) throw new UnreadableAudioError(`AAC at ${rate} Hz`);
  return { profile, sampleIndex, sampleRate: rate, chanConfig: channels, frameLength: FRAME };
}

const isAdts = (data: Uint8Array): boolean => data[0] === 0xff && ((data[1] ?? 0) & 0xf6) === 0xf0;

/** ADTS packets come with their header. */
function withoutHeader(data: Uint8Array): Uint8Array {
  if (!isAdts(data)) return data;
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
