interface Batch<Row> {
  ids: Set<string>;
  rows: Promise<Map<string, Row>>;
}

/**
 * Batches reads by id of one turn of the event loop. A thousand subscribers that reconnect at once after a deployment cost a few statements, and
 * do not use all connections of the pool.
 */
export class BatchedReads<Scope extends { orgId: string }, Row extends { id: string }> {
  readonly #open = new Map<string, Batch<Row>>();

  /** @param readMany rows of one organisation; unknown ids are left out */
  constructor(private readonly readMany: (scope: Scope, ids: string[]) => Promise<Row[]>) {}

  /** The row as it is after this call, or undefined. */
  async find(scope: Scope, id: string): Promise<Row | undefined> {
    const batch = this.#open.get(scope.orgId) ?? this.#begin(scope);
    batch.ids.add(id);
    return (await batch.rows).get(id);
  }

  #begin(scope: Scope): Batch<Row> {
    const ids = new Set<string>();
    const rows = new Promise((resolve) => setImmediate(resolve)).then(async () => {
      this.#open.delete(scope.orgId);
      return new Map((await this.readMany(scope, [...ids])).map((row) => [row.id, row]));
    });
    const batch = { ids, rows };
    this.#open.set(scope.orgId, batch);
    return batch;
  }
}
