import { SlotList } from '../collections/slot-list.js';
import type { AdmissionRequest } from './metering.types.js';

/** At most this many operations are remembered; then the oldest is dropped. */
const MAX_OPEN = 20_000;

/** Remembers open operations, in case the database loses their reservations (a crash, a failover). */
export class OpenOperations {
  private readonly requests = new SlotList<AdmissionRequest>();
  /** Holds indexes only: a map would keep its values in memory longer than needed (see `SlotList`). */
  private readonly places = new Map<string, number>();

  get(operationId: string): AdmissionRequest | undefined {
    const place = this.places.get(operationId);
    return place === undefined ? undefined : this.requests.at(place);
  }

  add(operationId: string, request: AdmissionRequest): void {
    if (this.places.size >= MAX_OPEN)
      for (const oldest of this.places.keys()) {
        this.delete(oldest);
        break;
      }
    this.places.set(operationId, this.requests.insert(request));
  }

  delete(operationId: string): void {
    const place = this.places.get(operationId);
    if (place === undefined) return;
    this.places.delete(operationId);
    this.requests.remove(place);
  }
}
