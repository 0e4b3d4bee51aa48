import type { Egress } from '../../egress/index.js';
import type { FileService, InputFetcher } from '../../files/index.js';
import type { Upstreams } from '../../generation/index.js';
import type { Imaging } from '../../imaging/index.js';
import type { Principal } from '../../access/index.js';
import type { CostBound, OperationTally } from '../../metering/index.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import type { ProviderRegistry } from '../../providers/index.js';
import type { Search } from '../../search/index.js';
import type { KnowledgeService } from '../agents.types.js';
import type { ModelCaller } from '../model/model-caller.js';
import type { AgentWork } from '../work/work-pool.js';
import type { RunMeter } from '../runs/run.meter.js';
import type { EndedOperation } from '../runs/run.moves.queries.js';

/** The parts of the product that tools use. */
export interface ToolParts {
  search: Search;
  egress: Egress;
  inputs: InputFetcher;
  files: FileService;
  /** Reads documents in a process of its own. */
  knowledge: Pick<KnowledgeService, 'extract'>;
  imaging: Imaging;
  models: ModelCatalogue;
  providers: Pick<ProviderRegistry, 'find'>;
  /** Asks models and their fallbacks. */
  upstreams: Upstreams;
  /** Asks chat models in the name of a run. */
  caller: ModelCaller;
  work: AgentWork;
}

/** The run that calls a tool. */
export interface ToolContext {
  orgId: string;
  runId: string;
  /** The agent's own model. */
  model: Model;
  temperature: number;
  maxTokens: number;
  meter: RunMeter;
  /** Gathers what the tool's own operation cost. */
  tally: OperationTally;
  /** Passages of the agent's files and the run's documents that fit a query, best first. */
  material(query: string, limit: number): Promise<Material[]>;
  /** Aborted when the run ends and when the tool's time limit is over. */
  signal: AbortSignal;
}

/** A passage of the run's material. */
export interface Material {
  /** `notes.md, passage 3`. */
  source: string;
  /** Null if the caller may not read it. */
  text: string | null;
}

/** The result of a tool. Files are references `{"$file": …}`, which are signed when they are shown. */
export interface ToolOutcome {
  /** The step's `tool_output`. */
  output: Record<string, unknown>;
  /** The result's text for the model; default: the output as JSON. */
  text?: string;
  /** Source of untrusted text. The model then gets the text marked as untrusted. */
  source?: string;
  /** Model calls of the tool that are charged in addition to its price. */
  operations?: EndedOperation[];
  tokens?: number;
}

/** The caller of a tool, and the model. */
export interface ToolCaller {
  principal: Principal;
  /** The agent's own. */
  model: Model;
}

/** The maximum cost of the tool's own model; null if it has no price. */
export interface ToolCost {
  model: string;
  most: CostBound | null;
}

/** One tool that agents may use. */
export interface AgentTool {
  /** Contract 4.8, or `mcp:<server>/<tool>`. */
  id: string;
  /** The name that a model calls it by: letters, digits, `_` and `-`. */
  name: string;
  description: string;
  /** Whole credits. */
  credits: number;
  /** JSON Schema of the input, for the model. */
  inputSchema: Record<string, unknown>;
  /** Default 60,000. */
  timeoutMs?: number;
  /** Checks the input against the schema. @throws ToolError */
  parse(input: unknown): unknown;
  /** The most that its own model may cost, for budgets in USD. Absent: it asks none, or one whose calls are reserved by themselves. */
  costs?(input: unknown, caller: ToolCaller): ToolCost;
  /** @throws ToolError with a message for the model; for any other error the model gets `Tool failed` */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>;
}

/** A tool could not do its work. The message goes to the model and into the step. */
export class ToolError extends Error {
  /** @param source source of a message that contains untrusted text; the model gets it marked as untrusted */
  constructor(
    message: string,
    cause?: unknown,
    readonly source?: string,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ToolError';
  }
}

/** The tools that are available now. */
export interface Toolbox {
  ids(): ReadonlySet<string>;
  /** All of them: the contract's in its order, then those of each MCP server. */
  list(): AgentTool[];
  find(id: string): AgentTool | null;
  close(): Promise<void>;
}
