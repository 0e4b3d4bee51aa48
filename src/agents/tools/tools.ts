import type { Logger } from 'pino';
import type { Egress } from '../../egress/index.js';
import type { FileService, InputFetcher } from '../../files/index.js';
import { createRouter } from '../../generation/index.js';
import type { Imaging } from '../../imaging/index.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import type { ProviderRegistry } from '../../providers/index.js';
import type { Search } from '../../search/index.js';
import type { KnowledgeService } from '../agents.types.js';
import type { ModelCaller } from '../model/model-caller.js';
import type { AgentWork } from '../work/work-pool.js';
import { createAnalyzeImageTool } from './analyze-image.tool.js';
import { createDocumentTool } from './create-document.tool.js';
import { createGenerateChartTool } from './generate-chart.tool.js';
import { createGenerateImageTool } from './generate-image.tool.js';
import { createGenerateTextTool } from './generate-text.tool.js';
import type { AgentTool } from './tool.types.js';
import { createWebFetchTool } from './web-fetch.tool.js';
import { createWebSearchTool } from './web-search.tool.js';

export interface ToolsOptions {
  search: Search;
  egress: Egress;
  inputs: InputFetcher;
  files: FileService;
  knowledge: Pick<KnowledgeService, 'extract'>;
  imaging: Imaging;
  models: ModelCatalogue;
  providers: ProviderRegistry;
  caller: ModelCaller;
  work: AgentWork;
  logger: Logger;
}

/** The seven tools of the contract (contract 4.8). */
export function createTools(options: ToolsOptions): AgentTool[] {
  const router = createRouter(options);
  return [
    createWebSearchTool(options),
    createWebFetchTool(options),
    createGenerateTextTool(options),
    createGenerateImageTool({ ...options, router }),
    createAnalyzeImageTool(options),
    createGenerateChartTool(options),
    createDocumentTool(options),
  ];
}
