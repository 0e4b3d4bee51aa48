import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '../access/access.types.js';
import { readJsonBody, readUnpacked } from './body.js';
import type { BodyReading, BodyRules } from './body.js';
import type { ByteBudget, Holding } from './byte-budget.js';
import { JsonReader } from '../text/json-reader.js';
import { beginningOf, callersRules, firstKey, parseJson } from './json-text.js';
import type { ParamOf } from './json-text.js';
import type { Turns } from '../collections/turns.js';
import type { ApiError } from '../contract/errors.js';

/** What is no longer than this is dealt with in one go, in about a millisecond. */
const SHORT_BYTES = 64 * 1024;
/** What is hashed, or taken apart, in one go. */
const PIECE_BYTES = 512 * 1024;

/**
 * The body of one request: read, counted and parsed so that nobody else waits for it. What is held of it counts against its key's and the
 * process's budget, until `release`.
 */
export class RequestBody {
  #holding: Holding | null = null;

  constructor(
    private readonly request: IncomingMessage,
    private readonly principal: Principal,
    private readonly means: { budget: ByteBudget; turns: Turns; rules?: BodyRules | undefined },
  ) {}

  /** What the request holds. */
  get holding(): Holding {
    return (this.#holding ??= this.means.budget.hold(this.principal));
  }

  /** @throws ApiError payload_too_large (or `refusal`), rate_limited, unavailable, invalid_request for one that breaks off */
  read(limitBytes: number, refusal?: () => ApiError): Promise<Buffer> {
    return readUnpacked(this.request, { ...this.reading(limitBytes), refusal });
  }

  /** The bytes of a body that must be plain JSON. @throws ApiError as `read`, unsupported_media_type */
  readJson(limitBytes: number): Promise<Buffer> {
    return readJsonBody(this.request, this.reading(limitBytes));
  }

  private reading(limitBytes: number): BodyReading {
    const {
      holding,
      means: { rules },
    } = this;
    return rules === undefined ? { limitBytes, holding } : { limitBytes, holding, rules };
  }

  /** @throws ApiError invalid_request, rate_limited, unavailable; as {@link parseJson} */
  async parse(bytes: Buffer, paramOf: ParamOf = firstKey): Promise<unknown> {
    if (bytes.length <= SHORT_BYTES) return parseJson(bytes, paramOf);
    const reader = new JsonReader(bytes, callersRules(paramOf), beginningOf(bytes));
    let weight = 0;
    await this.means.turns.run((until) => {
      const done = reader.read(until);
      this.holding.grow(reader.weight - weight);
      ({ weight } = reader);
      return done;
    });
    return reader.value;
  }

  /** What two equal bodies have in common, and others have not: the bytes, or of many their hash. */
  async fingerprint(bytes: Buffer): Promise<Buffer> {
    if (bytes.length <= SHORT_BYTES) return bytes;
    const hash = createHash('sha256');
    await this.inPieces(bytes, (piece) => void hash.update(piece));
    return hash.digest();
  }

  /** Gives the bytes to `take`, a piece in each turn. */
  inPieces(bytes: Buffer, take: (piece: Buffer) => void): Promise<void> {
    let at = 0;
    return this.means.turns.run(() => {
      take(bytes.subarray(at, (at += PIECE_BYTES)));
      return at >= bytes.length;
    });
  }

  release(): void {
    this.#holding?.release();
  }
}
