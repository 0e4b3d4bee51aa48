import type { Authenticator, PlanCatalogue } from './access/access.types.js';
import type {
  ClientTokenService,
  TrustedDocuments,
  KeyService,
  OrganizationService,
  PeopleService,
  TeamService,
} from './access/index.js';
import type {
  AgentRunService,
  AgentService,
  KnowledgeService,
  MemoryService,
  RunEvents,
  Toolbox,
} from './agents/index.js';
import type { AuditLog } from './audit/index.js';
import type { Config } from './config/index.js';
import type { Database } from './database/index.js';
import type { FileService } from './files/files.types.js';
import type { Storage, UploadService } from './files/index.js';
import type {
  ChatService,
  EmbeddingService,
  GenerationService,
  ModerationService,
  RerankService,
} from './generation/generation.types.js';
import type { MessageService, ResponseEvents, ResponseService } from './generation/index.js';
import type { JobEvents, JobService } from './jobs/jobs.types.js';
import type { Metering } from './metering/metering.types.js';
import type { BudgetService, StreamLimits } from './metering/index.js';
import type { ModelCatalogue } from './models/models.types.js';
import type { OperatorService } from './operator/operator.types.js';
import type { Bus } from './events/events.types.js';
import type { UsageEvents } from './usage/stream.types.js';
import type { Usage } from './usage/usage.types.js';
import type { WebhookService } from './webhooks/index.js';

/** What the faces (schema, subscriptions, REST) may call: built once by `boot/`, passed down, never global. */
export interface Services {
  knowledge: KnowledgeService;
  memories: MemoryService;
  agents: AgentService;
  agentRuns: AgentRunService;
  agentTools: Pick<Toolbox, 'list'>;
  runEvents: RunEvents;
  webhooks: WebhookService;
  config: Config;
  database: Database;
  bus: Bus;
  plans: PlanCatalogue;
  audit: AuditLog;
  organizations: OrganizationService;
  keys: KeyService;
  clientTokens: ClientTokenService;
  trustedDocuments: TrustedDocuments;
  team: TeamService;
  people: PeopleService;
  operator: OperatorService;
  authenticator: Authenticator;
  metering: Metering;
  usage: Usage;
  usageEvents: UsageEvents;
  budgets: BudgetService;
  streams: StreamLimits;
  files: FileService;
  uploads: UploadService;
  storage: Storage;
  models: ModelCatalogue;
  jobs: JobService;
  jobEvents: JobEvents;
  chat: ChatService;
  responses: ResponseService;
  responseEvents: ResponseEvents;
  messages: MessageService;
  embeddings: EmbeddingService;
  rerank: RerankService;
  moderations: ModerationService;
  generation: GenerationService;
}
