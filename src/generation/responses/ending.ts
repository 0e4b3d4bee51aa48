import type { Model } from '../../models/models.types.js';
import { tokenRate } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import { adoptedResponse, begunResponse, endedResponse } from './object.js';
import type { Ended, ResponseObject } from './object.js';
import type { ResponseWork } from './work.js';

interface End {
  model: Model;
  ended: Ended;
  /** The tokens of all rounds. */
  tokens: Tokens;
  /** The upstream's own object if it has the dialect; else null. */
  final: Fields | null;
}

/** The response object at the beginning. @param given the upstream's own object if it has the dialect; else null */
export function begin(work: ResponseWork, model: Model, given: Fields | null): ResponseObject {
  const identity = work.identity(model, given === null ? null : work.providerOf(model));
  if (given === null) return begunResponse(identity);
  return {
    ...adoptedResponse(identity, given),
    status: 'in_progress',
    output: [],
    usage: undefined,
  } as ResponseObject;
}

/** The response object at the end, before the charge. */
export function conclude(work: ResponseWork, { model, ended, tokens, final }: End): ResponseObject {
  const { metering } = work.parts.engine.options;
  const identity = work.identity(model, final === null ? null : work.providerOf(model));
  const begun = final === null ? begunResponse(identity) : adoptedResponse(identity, final);
  const { credits = 0 } = metering.tokenAmounts(tokens.total, tokenRate(work.turn.chat.model));
  const creditsUsed = (credits + work.searches.charged) / 100;
  return endedResponse(begun, {
    output: work.items,
    ended,
    usage: work.details.usage(tokens),
    creditsUsed,
  });
}
