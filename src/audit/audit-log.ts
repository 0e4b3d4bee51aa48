import { badCursor, toPage, newestFirst } from '../collections/page.js';
import { invalid } from '../contract/errors.js';
import type { Database } from '../database/index.js';
import { AuditEntity, toAuditEntry } from './audit.entity.js';
import type { AuditFilter, AuditLog } from './audit.types.js';

/** Of each list of a filter. */
const MAX_NAMED = 100;

const NOBODY: readonly string[] = ['operator', 'system'];

/** @throws ApiError invalid_request */
function check({ since, until, ...lists }: AuditFilter): void {
  if (since != null && until != null && until < since)
    throw invalid('until must not be before since', 'until');
  for (const name of ['actors', 'actions', 'subjects'] as const)
    if ((lists[name]?.length ?? 0) > MAX_NAMED) throw invalid(`${name} must name at most ${MAX_NAMED}`, name);
}

/** Ids of people and keys are theirs alone, so that no kind stands beside them. */
function byActor(actors: readonly string[]): object {
  const kinds = actors.filter((actor) => NOBODY.includes(actor));
  return { $or: [{ actorId: { $in: actors } }, { actorKind: { $in: kinds } }] };
}

function conditionOf({ since, until, actors, actions, subjects }: AuditFilter): object[] {
  return [
    ...(since == null ? [] : [{ at: { $gte: since } }]),
    ...(until == null ? [] : [{ at: { $lt: until } }]),
    ...(actors == null ? [] : [byActor(actors)]),
    ...(actions == null ? [] : [{ action: { $in: actions } }]),
    ...(subjects == null ? [] : [{ subjectId: { $in: subjects } }]),
  ];
}

/** @see AuditLog */
export function createAuditLog({ database }: { database: Database }): AuditLog {
  return {
    getMany: (orgId, ids) =>
      database.tenant(orgId, async (em) =>
        (await em.find(AuditEntity, { orgId, id: { $in: [...ids] } })).map(toAuditEntry),
      ),
    async list(orgId, { filter, ...page }) {
      check(filter);
      const bad = badCursor(page, (cursor) => /^aud_[0-9a-z]{26}$/.test(cursor));
      if (bad !== undefined) throw invalid('Invalid cursor', bad);
      const listed = [{ orgId }, ...conditionOf(filter)];
      const { parts, options } = newestFirst(page);
      const rows = await database.tenant(orgId, (em) =>
        em.find(AuditEntity, { $and: [...listed, ...parts] }, options),
      );
      return {
        ...toPage(rows.map(toAuditEntry), page, ({ id }) => id),
        count: () => database.tenant(orgId, (em) => em.count(AuditEntity, { $and: listed })),
      };
    },
  };
}
