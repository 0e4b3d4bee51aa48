import { pino } from 'pino';
import type { Logger } from 'pino';
import {
  accessEntities,
  createKeyService,
  createMemberService,
  createOperatorRegistry,
  createOrganizationService,
  createPeopleService,
  createPlanCatalogue,
} from '../access/index.js';
import type {
  KeyService,
  MemberService,
  OperatorRegistry,
  OrganizationService,
  PeopleService,
  PlanCatalogue,
} from '../access/index.js';
import { actAs, OPERATOR } from '../audit/index.js';
import { loadConfig } from '../config/index.js';
import type { Config } from '../config/index.js';
import { createDatabase } from '../database/index.js';
import type { Database } from '../database/index.js';
import { createStorage } from '../files/index.js';
import type { Storage } from '../files/index.js';
import { newId } from '../contract/ids.js';
import { createUsage } from '../usage/index.js';
import type { Usage } from '../usage/index.js';
import { BudgetEntity, createBudgetService, createMetering } from '../metering/index.js';
import type { BudgetService, Metering } from '../metering/index.js';

/** What a command works with: the same services as a server's, on the same database, which may have a server beside it or none. */
export interface Session {
  config: Config;
  logger: Logger;
  database: Database;
  plans: PlanCatalogue;
  organizations: OrganizationService;
  keys: KeyService;
  budgets: BudgetService;
  members: MemberService;
  people: PeopleService;
  operators: OperatorRegistry;
  metering: Metering;
  usage: Usage;
  storage: Storage;
}

/** Warnings and worse go to standard error, as JSON lines; standard output is the command's answer. */
export const createCliLogger = (): Logger => pino({ level: 'warn' }, pino.destination(2));

/** The command line admits no calls, so that nobody's key is ever stale here. */
const neverRefreshed = (): never => {
  throw new Error('The command line serves no calls');
};

function createServices(database: Database, plans: PlanCatalogue, logger: Logger) {
  return {
    organizations: createOrganizationService({ database, plans }),
    keys: createKeyService({ database }),
    budgets: createBudgetService({ database }),
    members: createMemberService({ database }),
    people: createPeopleService({ database }),
    operators: createOperatorRegistry({ database }),
    storage: createStorage(database),
    usage: createUsage({ database }),
    metering: createMetering({
      database,
      plans,
      logger,
      processId: newId('prc'),
      role: 'cli',
      refresh: neverRefreshed,
    }),
  };
}

/** Opens the database (starting or adopting an embedded one), migrates it, does the work in the operator's name, and leaves nothing running. */
export async function withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const plans = await createPlanCatalogue(config.plansFile);
  const logger = createCliLogger();
  const database = await createDatabase({ config, logger, entities: [...accessEntities, BudgetEntity] });
  try {
    const services = createServices(database, plans, logger);
    try {
      return await actAs(OPERATOR, () => work({ config, logger, database, plans, ...services }));
    } finally {
      await services.metering.close();
    }
  } finally {
    await database.close();
  }
}
