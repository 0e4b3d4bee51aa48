import type { Logger } from 'pino';
import { ApiError, invalid } from '../../contract/errors.js';
import type { CallContext } from '../../metering/call-context.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';
import { answerOfFault } from '../chat/settlement.js';
import type { ModerationService } from '../generation.types.js';

interface ModerationOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  logger: Logger;
}

const MAX_INPUTS = 2048;

/** The provider of the default chat model if it moderates, else the first provider that does. */
function moderatorOf({ models, providers }: ModerationOptions): Required<Pick<Provider, 'moderate'>> | null {
  const usual = models.list({ type: 'chat', available: true }).find((model) => model.default);
  const preferred = providers.find(usual?.upstream?.providerId ?? '');
  const found = [...(preferred ? [preferred] : []), ...providers.list()].find(
    (provider) => provider.moderate !== undefined,
  );
  return (found as Required<Pick<Provider, 'moderate'>> | undefined) ?? null;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isPart = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** @throws ApiError invalid_request that names the place */
function checkInput(input: unknown): void {
  if (input == null) throw invalid('input is required', 'input');
  if (isText(input)) return;
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_INPUTS)
    throw invalid(`input must be a string or an array of 1 to ${MAX_INPUTS} strings or parts`, 'input');
  const wrong = input.findIndex((item) => !isText(item) && !isPart(item));
  if (wrong !== -1) throw invalid(`input[${wrong}] must be a string or a part with a type`, 'input');
}

/** The upstream's own name of the requested model; absent: the upstream's default. @throws ApiError invalid_request */
function modelOf(model: unknown): { model?: string } {
  if (model == null) return {};
  if (typeof model !== 'string') throw invalid('model must be a string', 'model');
  return { model: model.slice(model.lastIndexOf('/') + 1) };
}

/** Moderations (beyond 11.12): free of charge, and answered by an upstream only. */
export function createModerationService(options: ModerationOptions): ModerationService {
  return {
    async create(call: CallContext, body) {
      const moderator = moderatorOf(options);
      if (moderator === null) throw new ApiError('not_found', 'Not found: no provider here moderates');
      const { input, model } = body;
      checkInput(input);
      try {
        return await moderator.moderate({ input, ...modelOf(model) }, call.signal);
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof ApiError))
          options.logger.error({ err: error }, 'a moderation failed');
        throw answerOfFault(error);
      }
    },
  };
}
