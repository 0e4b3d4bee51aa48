import {
  createAgentService,
  createAgentWork,
  createModelCaller,
  createRunEventReader,
  createRunService,
  createTools,
  installTemplates,
  openToolbox,
} from '../agents/index.js';
import { createUpstreams } from '../generation/index.js';
import type { KnowledgeService, MemoryService, RunWorkerOptions } from '../agents/index.js';
import type { Egress } from '../egress/index.js';
import type { InputFetcher } from '../files/index.js';
import type { Search } from '../search/index.js';
import type { Services } from '../services.js';
import { createRunHub, type RunHub, type RunHubDependencies } from '../../subscriptions/index.js';
import type { Closers } from './closers.js';
import type { Foundation } from './foundation.js';

interface AgentsOptions {
  foundation: Foundation;
  closers: Closers;
  egress: Egress;
  inputs: InputFetcher;
  search: Search;
  knowledge: KnowledgeService;
  memory: MemoryService;
}

/** Agents for the faces, and what a worker needs to execute their runs. */
export interface Agents {
  services: Pick<Services, 'agents' | 'agentRuns' | 'agentTools' | 'runEvents'>;
  hub: RunHub;
  execution: RunWorkerOptions;
}

export async function openAgents(options: AgentsOptions): Promise<Agents> {
  const { foundation, closers, inputs, search, egress, knowledge, memory } = options;
  const { database, models, metering, authenticator, logger } = foundation;
  const files = foundation.files.service;
  await installTemplates(database, models);
  const { tokenizer, providers } = foundation;
  const caller = createModelCaller({ models, providers, tokenizer, logger });
  const work = createAgentWork();
  closers.add('the threads of tools', () => work.close());
  const { imaging } = foundation;
  const parts = {
    search,
    egress,
    inputs,
    files,
    knowledge,
    imaging,
    models,
    providers,
    upstreams: createUpstreams({ models, providers, logger }),
    caller,
    work,
  };
  const toolbox = await openToolbox({ tools: createTools(parts), servers: foundation.mcpServers, logger });
  closers.add('the tools of agents', () => toolbox.close());
  const knownTools = () => toolbox.ids();
  const agents = createAgentService({ database, models, knowledge, memory, knownTools });
  const agentRuns = createRunService({
    database,
    metering,
    models,
    agents,
    inputs,
    files,
    knowledge,
    logger,
    knownTools,
  });
  const hub = await openHub(foundation, agentRuns);
  closers.add('the hub of runs', () => hub.close());
  return {
    services: { agents, agentRuns, agentTools: toolbox, runEvents: hub },
    hub,
    execution: {
      database,
      authenticator,
      metering,
      models,
      files,
      knowledge,
      memory,
      caller,
      toolbox,
      logger,
    },
  };
}

function openHub(
  { database, bus, logger, files }: Foundation,
  runs: RunHubDependencies['runs'],
): Promise<RunHub> {
  const { hints } = database;
  const sign = files.service.sign.bind(files.service);
  return createRunHub({ runs, all: createRunEventReader(database), hints, bus, sign, logger });
}
