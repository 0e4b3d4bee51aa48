import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '../access/access.types.js';
import { readJsonBody, readUnpacked } from './body.js';
import type { BodyReading, BodyRules } from './body.js';
import type { ByteBudget, ByteReservation } from './byte-budget.js';
import { JsonReader } from '../text/json-reader.js';
import { textStart, requestJsonRules, firstKey, parseJson } from './json-text.js';
import type { ParamOf } from './json-text.js';
import { freeBytes } from '../collections/free-bytes.js';
import type { TimeSlicer } from '../collections/time-slicer.js';
import type { ApiError } from '../contract/errors.js';

/** A body up to this size is handled in one step, in about a millisecond. */
const SHORT_BYTES = 64 * 1024;
/** Bytes that are hashed or parsed in one time slice. */
const PIECE_BYTES = 512 * 1024;

/**
 * The body of one request: reads, counts and parses it without blocking other requests. Its bytes count against the byte budgets of its key and
 * of the process until `release`.
 */
export class RequestBody {
  #holding: ByteReservation | null = null;

  constructor(
    private readonly request: IncomingMessage,
    private readonly principal: Principal,
    private readonly means: { budget: ByteBudget; timeSlicer: TimeSlicer; rules?: BodyRules | undefined },
  ) {}

  /** What the request holds. */
  get byteReservation(): ByteReservation {
    return (this.#holding ??= this.means.budget.hold(this.principal));
  }

  /** @throws ApiError payload_too_large (or `refusal`), rate_limited, unavailable, invalid_request for an aborted body */
  read(limitBytes: number, refusal?: () => ApiError): Promise<Buffer> {
    return readUnpacked(this.request, { ...this.reading(limitBytes), refusal });
  }

  /** The bytes of a body that must be plain JSON. @throws ApiError as `read`, unsupported_media_type */
  readJson(limitBytes: number): Promise<Buffer> {
    return readJsonBody(this.request, this.reading(limitBytes));
  }

  private reading(limitBytes: number): BodyReading {
    const {
      byteReservation,
      means: { rules, timeSlicer },
    } = this;
    return { limitBytes, byteReservation, timeSlicer, ...(rules && { rules }) };
  }

  /** @throws ApiError invalid_request, rate_limited, unavailable; as {@link parseJson} */
  async parse(bytes: Buffer, paramOf: ParamOf = firstKey): Promise<unknown> {
    if (bytes.length <= SHORT_BYTES) return parseJson(bytes, paramOf);
    const reader = new JsonReader(bytes, requestJsonRules(paramOf), textStart(bytes));
    let weight = 0;
    await this.means.timeSlicer.run((until) => {
      const done = reader.read(until);
      this.byteReservation.grow(reader.weight - weight);
      ({ weight } = reader);
      return done;
    });
    return reader.value;
  }

  /** The value of a body that must be plain JSON. Its bytes are freed. @throws ApiError as `readJson` and `parse` */
  async parseJson(limitBytes: number, paramOf: ParamOf): Promise<unknown> {
    const bytes = await this.readJson(limitBytes);
    try {
      return await this.parse(bytes, paramOf);
    } finally {
      freeBytes(bytes);
    }
  }

  /** Identifies a body: the bytes of a short one, the SHA-256 of a long one. */
  async fingerprint(bytes: Buffer): Promise<Buffer> {
    if (bytes.length <= SHORT_BYTES) return bytes;
    const hash = createHash('sha256');
    await this.inPieces(bytes, (piece) => void hash.update(piece));
    return hash.digest();
  }

  /** Passes the bytes to `take`, one piece in each time slice. */
  inPieces(bytes: Buffer, take: (piece: Buffer) => void): Promise<void> {
    let at = 0;
    return this.means.timeSlicer.run(() => {
      take(bytes.subarray(at, (at += PIECE_BYTES)));
      return at >= bytes.length;
    });
  }

  release(): void {
    this.#holding?.release();
  }
}
