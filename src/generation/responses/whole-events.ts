/** The events of an answer in one piece. They are not stored: they can be derived from the answer, and are written when they are read. */
import type { Fields } from '../dialects/checks.js';
import { EventLog, SilentLog } from './events.js';
import { writeWhole } from './native-whole.js';
import type { ResponseObject } from './object.js';

/** The response object of an answer in one piece, as it would have been at its beginning. */
export function begunWhole(response: ResponseObject): ResponseObject {
  const { credits_used: _credits, usage: _usage, ...begun } = response;
  return { ...begun, status: 'in_progress', completed_at: null, incomplete_details: null, output: [] };
}

/** Writes the events; each text is one delta. */
function tell(response: ResponseObject, log: EventLog): EventLog {
  const begun = log.isSilent ? response : begunWhole(response);
  log.push({ type: 'response.created', response: begun as never });
  log.push({ type: 'response.in_progress', response: begun as never });
  response.output.forEach((item, index) => {
    writeWhole(item as unknown as Fields, { index, log });
    log.push({ type: 'response.output_item.done', output_index: index, item });
  });
  const type = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  log.push({ type, response: response as never });
  return log;
}

/** The events that a stream would have for an answer in one piece. */
export const wholeEvents = (response: ResponseObject): readonly string[] =>
  tell(response, new EventLog()).ready;

/** The number of these events. */
export const countWholeEvents = (response: ResponseObject): number => tell(response, new SilentLog()).next;
