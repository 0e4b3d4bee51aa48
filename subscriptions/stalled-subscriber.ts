/** A subscriber fell further behind than its bound: its connection is closed (4013) and it resumes with `after:`. */
export class StalledSubscriberError extends Error {
  constructor() {
    super('The subscriber does not keep up with its events');
    this.name = 'StalledSubscriberError';
  }
}
