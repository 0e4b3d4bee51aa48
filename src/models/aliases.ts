import type { Model } from './models.types.js';

/** The operator's further names for models (beyond 11.5). */
export interface Aliases {
  /** The id that a name stands for; null: none. The longest alias that fits counts. */
  targetOf(name: string): string | null;
  /** The aliases without `*`, in the order of the file. */
  whole: readonly { alias: string; target: string }[];
}

/**
 * @param given by alias, with at most one `*`, at its end
 * @param faults gets what is wrong: an alias that is a model's id, a target that no available model has
 */
export function createAliases(
  given: Readonly<Record<string, string>>,
  models: ReadonlyMap<string, Model>,
  faults: string[],
): Aliases {
  const all = Object.entries(given).map(([alias, target]) => ({ alias, target }));
  for (const { alias, target } of all) {
    if (models.has(alias)) faults.push(`aliases.${alias}: is the id of a model`);
    if (models.get(target)?.available !== true)
      faults.push(`aliases.${alias}: ${target} is not an available model`);
  }
  const whole = all.filter(({ alias }) => !alias.endsWith('*'));
  const byName = new Map(whole.map(({ alias, target }) => [alias, target]));
  const beginnings = all
    .filter(({ alias }) => alias.endsWith('*'))
    .map(({ alias, target }) => ({ beginning: alias.slice(0, -1), target }))
    .sort((one, other) => other.beginning.length - one.beginning.length);
  return {
    whole,
    targetOf: (name) =>
      byName.get(name) ?? beginnings.find(({ beginning }) => name.startsWith(beginning))?.target ?? null,
  };
}
