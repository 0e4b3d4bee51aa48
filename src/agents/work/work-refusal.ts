/** Work that cannot be done as it was asked for; the message says why to who asked. */
export class WorkRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkRefusal';
  }
}
