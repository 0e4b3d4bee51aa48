/**
 * The things that are open now, when thousands come and go in a second. A `Set` or `Map` would do the same, but in V8 each outgrown table of
 * theirs points to its successor: one old table, even if it is dead, keeps all later tables and their contents alive through every minor
 * collection. Here a place is returned and used again.
 */
export class SlotList<Item> {
  private readonly places: (Item | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.places.length - this.free.length;
  }

  /** @returns the place to give back with `remove`, once */
  insert(item: Item): number {
    const place = this.free.pop() ?? this.places.length;
    this.places[place] = item;
    return place;
  }

  at(place: number): Item | undefined {
    return this.places[place];
  }

  remove(place: number): void {
    this.places[place] = undefined;
    this.free.push(place);
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.places) if (item !== undefined) yield item;
  }
}
