import type { Egress } from '../../egress/index.js';
import { EgressError } from '../../egress/index.js';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import { UnreadableImageError } from '../../imaging/index.js';
import { ProcessDiedError, TaskError } from '../../processes/index.js';
import type { ChatCall } from '../../providers/providers.types.js';
import { abortedError } from '../../providers/index.js';
import type { PictureFacts } from '../look/look.js';
import type { Pictures } from '../pictures/pictures.js';
import { shortened } from '../../text/titles.js';

/** Describes pictures for the sandbox by measurements, and says so in the description. */
export interface SandboxEyes {
  /** A sentence or more about each picture of the latest user message. @throws UpstreamError aborted */
  describe(call: ChatCall): Promise<string[]>;
}

interface EyesOptions {
  pictures: Pick<Pictures, 'look'>;
  /** Reads pictures at callers' addresses; without it they are ignored. */
  egress: Egress | undefined;
}

const MAX_IMAGES = 4;
const MAX_BYTES = 20 * 1024 * 1024;
/** The maximum time in ms that a chat waits for a picture's host. */
const FETCH_MS = 3000;
const MAX_REDIRECTS = 3;
const BASE64 = /^data:[^,]*;\s*base64,/i;

interface Message {
  role?: unknown;
  content?: unknown;
}

function addressesIn({ body }: ChatCall): string[] {
  const latest = (body.messages as Message[]).findLast(({ role }) => role === 'user');
  if (!Array.isArray(latest?.content)) return [];
  return (latest.content as { type?: unknown; image_url?: { url?: unknown } | string }[])
    .filter(({ type }) => type === 'image_url')
    .map(({ image_url: image }) => (typeof image === 'string' ? image : String(image?.url ?? '')));
}

export function createSandboxEyes({ pictures, egress }: EyesOptions): SandboxEyes {
  const bytesAt = async (address: string, signal: AbortSignal): Promise<Uint8Array | null> => {
    const data = BASE64.exec(address.slice(0, 200));
    if (data !== null) return Buffer.from(address.slice(data[0].length), 'base64');
    if (egress === undefined) return null;
    const limits = { maxBytes: MAX_BYTES, maxRedirects: MAX_REDIRECTS, totalTimeoutMs: FETCH_MS };
    const answer = await egress.request(address, { ...limits, headers: { accept: 'image/*' }, signal });
    return answer.status === 200 ? answer.body : null;
  };
  const see = async (address: string, signal: AbortSignal): Promise<string> => {
    try {
      const bytes = await bytesAt(address, signal);
      return bytes === null ? 'could not be fetched' : inWords(await pictures.look(bytes, signal));
    } catch (error) {
      if (signal.aborted) throw abortedError();
      if (error instanceof EgressError) return 'could not be fetched';
      if (error instanceof UnreadableImageError)
        return 'cannot be read: it is no JPEG, PNG or WebP that is whole';
      // The process took too long, or the picture made it crash.
      if (error instanceof TaskError || error instanceof ProcessDiedError) return 'could not be looked at';
      throw error;
    }
  };
  return {
    async describe(call) {
      const addresses = addressesIn(call).slice(0, MAX_IMAGES);
      if (addresses.length === 0) return [];
      const signal = abortSignalOf(call.signal);
      const seen = await Promise.all(addresses.map((address) => see(address, signal)));
      const words = seen.map((facts, at) => `${addresses.length === 1 ? 'It' : `Image ${at + 1}`} ${facts}.`);
      return [...words, 'I measure colours and shapes; I recognise no things.'];
    },
  };
}

const FORMATS: Readonly<Record<string, string>> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const percent = (share: number): string => `${Math.max(1, Math.round(share * 100))} %`;

function listed(items: string[]): string {
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}

function lightOf({ brightness, contrast }: PictureFacts): string {
  const light = brightness < 0.25 ? 'dark' : brightness > 0.75 ? 'bright' : 'of medium brightness';
  return `${light}${contrast < 0.06 ? ', with little contrast' : contrast > 0.3 ? ', with strong contrast' : ''}`;
}

function layoutOf({ shapes, background, bands, detail }: PictureFacts): string {
  if (shapes === null) {
    const texture =
      detail > 0.06 ? 'full of fine detail' : detail > 0.02 ? 'with some detail' : 'with soft transitions';
    const [top, middle, bottom] = bands;
    return top === middle && middle === bottom
      ? `mostly ${top} from top to bottom, ${texture}`
      : `mostly ${top} at the top, ${middle} in the middle and ${bottom} at the bottom, ${texture}`;
  }
  const ground = background === null ? 'a transparent background' : `a plain ${background} background`;
  if (shapes.length === 0)
    return background === null ? 'nothing but transparency' : `one plain ${background} area`;
  const words = shapes.map(({ colour, kind, place, share }) => {
    const where = place === 'centre' ? 'in the centre' : `at the ${place}`;
    return `${colour.startsWith('o') ? 'an' : 'a'} ${colour} ${kind} ${where} (${percent(share)} of the picture)`;
  });
  return `${listed(words)} on ${ground}`;
}

/** The measurements, in words that follow `It` or `Image 1`. */
function inWords(facts: PictureFacts): string {
  const { format, width, height, colours, transparent, grey, madeFor } = facts;
  const form = width === height ? 'square' : width > height ? 'landscape' : 'portrait';
  const shares = colours.slice(0, 4).map(({ name, share }) => `${name} ${percent(share)}`);
  const parts = [
    `is a ${FORMATS[format] ?? format} of ${width} × ${height} pixels (${form}), ${lightOf(facts)}`,
    ...(shares.length === 0
      ? []
      : [`Its colours are ${listed(shares)}${grey ? ' (no colour but greys)' : ''}`]),
    `It shows ${layoutOf(facts)}`,
    transparent > 0.005 ? `${percent(transparent)} of it is transparent` : 'No part of it is transparent',
    ...(madeFor === null
      ? []
      : [`The file says that the Penstock sandbox made it for the prompt "${shortened(madeFor, 200)}"`]),
  ];
  return parts.join('. ');
}
