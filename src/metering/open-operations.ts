import { SlotList } from '../collections/slot-list.js';
import type { AdmissionRequest } from './metering.types.js';

/** Operations that are remembered at most; beyond it the oldest is forgotten. */
const MAX_OPEN = 20_000;

/** What open operations were, for the case that their reservations are lost with the database. */
export class OpenOperations {
  private readonly requests = new SlotList<AdmissionRequest>();
  /** Places only: what such a map holds lives longer than it is needed (see `SlotList`). */
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
