import { readFile } from 'node:fs/promises';
import { ConfigError } from '../config/index.js';
import type { PlanCatalogue } from './access.types.js';
import { DEFAULT_PLANS, PlansSchema, toCatalogue } from './plans.js';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects are merged key by key; anything else (lists, null) replaces. Every key is kept, so that unknown ones are found. */
function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  const own = (key: string): unknown => (Object.hasOwn(base, key) ? base[key] : undefined);
  return Object.fromEntries([
    ...Object.entries(base),
    ...Object.entries(over).map(([key, value]) => [key, merge(own(key), value)]),
  ]);
}

async function readJson(file: string): Promise<unknown> {
  try {
    // Editors on Windows write a byte order mark at the beginning.
    return JSON.parse((await readFile(file, 'utf8')).replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new ConfigError([`PLANS_FILE: ${file}: ${(error as Error).message}`]);
  }
}

/**
 * The plans in force: the contract's, with an operator's file merged deeply over them (decisions 2).
 * @param file null: the contract's plans
 * @throws ConfigError naming every fault: unknown keys, wrong types, an unreadable file
 */
export async function loadPlans(file: string | null): Promise<PlanCatalogue> {
  if (file === null) return toCatalogue(DEFAULT_PLANS);
  const content = await readJson(file);
  if (!isObject(content)) throw new ConfigError([`PLANS_FILE: ${file}: must be a JSON object`]);
  const parsed = PlansSchema.safeParse(merge(DEFAULT_PLANS, content));
  if (parsed.success) return toCatalogue(parsed.data);
  throw new ConfigError(
    parsed.error.issues.map(
      (issue) => `PLANS_FILE: ${[...issue.path, ''].join('.').slice(0, -1) || 'file'}: ${issue.message}`,
    ),
  );
}

/** A catalogue whose contents can be replaced while other objects hold a reference to it. */
export interface LivePlanCatalogue extends PlanCatalogue {
  /** Reads the file again. @throws ConfigError, and keeps the old plans */
  reload(): Promise<void>;
}

/** Plans for a running process: SIGHUP calls `reload` (decisions 9). */
export async function createPlanCatalogue(file: string | null): Promise<LivePlanCatalogue> {
  const live: LivePlanCatalogue = {
    ...(await loadPlans(file)),
    async reload() {
      Object.assign(live, await loadPlans(file));
    },
  };
  return live;
}
