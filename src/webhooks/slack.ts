import { firstCharacters } from '../text/characters.js';
import type { WebhookEventType } from './webhook.types.js';

/** The maximum of characters of callers' text: a channel message does not show a whole answer. */
const MAX_QUOTED = 300;

type Data = Readonly<Record<string, unknown>>;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A value in a sentence. Slack reads `<…>` as links and mentions, so that nothing of a caller's may hold it. */
function word(value: unknown): string {
  const text =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
  const cut = firstCharacters(text, MAX_QUOTED);
  return (cut === text ? text : `${cut}…`).replace(/[&<>]/g, (character) => ESCAPES[character] ?? '');
}

const seconds = (ms: unknown): string => word(Math.round(Number(ms) / 100) / 10);
const bucketOf = ({ bucketType }: Data): string => word(bucketType).replaceAll('_', ' ');
const spentOf = ({ spent, limit, unit }: Data): string =>
  unit === 'usd' ? `${word(spent)} of ${word(limit)} USD` : `${word(spent)} of ${word(limit)} ${word(unit)}`;

/** Whose calls a budget counts, in words. */
function countedBy({ scope, subject }: Data): string {
  if (scope === 'organization') return 'the organization';
  return `${scope === 'endUser' ? 'end user' : word(scope)} ${word(subject)}`;
}

/** A sentence for each event. Types beyond the registrations' own: what a test sends. */
const SENTENCES: Record<WebhookEventType | 'budget.threshold' | 'webhook.test', (data: Data) => string> = {
  'agent.run.started': (d) => `Agent ${word(d['agentName'])} began run ${word(d['runId'])}.`,
  'agent.run.completed': (d) =>
    `Agent ${word(d['agentName'])} completed run ${word(d['runId'])} in ${word(d['totalSteps'])} steps and ${seconds(d['durationMs'])} s.`,
  'agent.run.failed': (d) =>
    `Run ${word(d['runId'])} of agent ${word(d['agentName'])} failed: ${word(d['errorMessage'])}`,
  'generation.started': (d) => `Job ${word(d['jobId'])} (${word(d['tool'])}, ${word(d['model'])}) began.`,
  'generation.completed': (d) =>
    `Job ${word(d['jobId'])} (${word(d['tool'])}, ${word(d['model'])}) completed in ${seconds(d['durationMs'])} s.`,
  'generation.failed': (d) =>
    `Job ${word(d['jobId'])} (${word(d['tool'])}, ${word(d['model'])}) failed: ${word(d['errorMessage'])}`,
  'chat.message.created': (d) => `${word(d['model'])} answered a chat with ${word(d['totalTokens'])} tokens.`,
  'chat.conversation.created': (d) =>
    `A conversation with agent ${word(d['agentName'])} began: ${word(d['conversationId'])}.`,
  'subscription.created': (d) => `The subscription of plan ${word(d['planName'])} began.`,
  'subscription.updated': (d) => `The subscription was changed to plan ${word(d['planName'])}.`,
  'subscription.cancelled': (d) =>
    `The subscription of plan ${word(d['planName'])} was cancelled; it ends with its period.`,
  'credits.low': (d) =>
    `${word(d['percentUsed'])} % of ${bucketOf(d)} are used: ${word(d['remaining'])} of ${word(d['limit'])} remain.`,
  'credits.depleted': (d) => `All ${word(d['limit'])} of ${bucketOf(d)} are used.`,
  'team.member.added': (d) => `${word(d['email'])} joined as ${word(d['role'])}.`,
  'team.member.removed': (d) => `${word(d['email'])} was removed; the role was ${word(d['role'])}.`,
  'team.member.role_changed': (d) =>
    `The role of ${word(d['email'])} was changed from ${word(d['previousRole'])} to ${word(d['role'])}.`,
  'budget.threshold': (d) =>
    `Budget ${word(d['name'])} reached ${word(d['percent'])} % for ${countedBy(d)}: ${spentOf(d)} are spent.`,
  'webhook.test': () => 'Penstock sends a test of this webhook.',
};

/** An event in one short sentence, as Slack's incoming webhooks take it (beyond 13.5). */
export function slackText({ type, data }: Readonly<Record<string, unknown>>): string {
  const sentence = Object.entries(SENTENCES).find(([known]) => known === type)?.[1];
  return sentence?.((data ?? {}) as Data) ?? `Event ${word(type)}.`;
}
