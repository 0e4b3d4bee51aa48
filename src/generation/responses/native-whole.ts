import { isFields } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { EventLog } from './events.js';

/** Writes the events that a stream would have for a complete item, except `response.output_item.done`. */
export function writeWhole(item: Fields, { index, log }: { index: number; log: EventLog }): void {
  const place = { item_id: item['id'], output_index: index };
  const isStated = 'status' in item;
  const begun = (empty: Fields): void =>
    log.pushUnknown({
      type: 'response.output_item.added',
      output_index: index,
      item: { ...item, ...(isStated ? { status: 'in_progress' } : {}), ...empty },
    });
  switch (item['type']) {
    case 'message':
      begun({ content: [] });
      return partsOf(item['content']).forEach((part, at) =>
        writePart(part, { ...place, content_index: at }, log),
      );
    case 'reasoning':
      begun({ summary: [] });
      return partsOf(item['summary']).forEach((part, at) =>
        writeSummary(part, { ...place, summary_index: at }, log),
      );
    case 'function_call':
      begun({ arguments: '' });
      return writeText(log, {
        place,
        name: 'function_call_arguments',
        field: 'arguments',
        text: item['arguments'],
      });
    case 'custom_tool_call':
      begun({ input: '' });
      return writeText(log, { place, name: 'custom_tool_call_input', field: 'input', text: item['input'] });
    default:
      begun({});
  }
}

const partsOf = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isFields) : []);

function writeText(
  log: EventLog,
  { place, name, field, text }: { place: Fields; name: string; field: string; text: unknown },
): void {
  if (typeof text !== 'string') return;
  if (text !== '') log.pushUnknown({ type: `response.${name}.delta`, ...place, delta: text });
  log.pushUnknown({ type: `response.${name}.done`, ...place, [field]: text });
}

function writePart(part: Fields, place: Fields, log: EventLog): void {
  const isRefusal = part['type'] === 'refusal';
  const field = isRefusal ? 'refusal' : 'text';
  log.pushUnknown({ type: 'response.content_part.added', ...place, part: { ...part, [field]: '' } });
  const more = isRefusal ? {} : { logprobs: part['logprobs'] ?? [] };
  writeText(log, {
    place: { ...place, ...more },
    name: isRefusal ? 'refusal' : 'output_text',
    field,
    text: part[field],
  });
  log.pushUnknown({ type: 'response.content_part.done', ...place, part });
}

function writeSummary(part: Fields, place: Fields, log: EventLog): void {
  log.pushUnknown({ type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } });
  writeText(log, { place, name: 'reasoning_summary_text', field: 'text', text: part['text'] });
  log.pushUnknown({ type: 'response.reasoning_summary_part.done', ...place, part });
}
