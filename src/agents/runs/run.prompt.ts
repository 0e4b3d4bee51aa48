import type { ModelMessage } from 'ai';
import type { Database } from '../../database/database.types.js';
import type { FileService } from '../../files/index.js';
import type { Memory, Passage } from '../agents.types.js';
import type { RunRow } from './run.row.js';
import { markUntrusted, UNTRUSTED_NOTICE } from './untrusted.js';
import { EARLIER } from './run.queries.js';

/** Heads of what is put into the prompt; the sandbox's model knows them by these words. */
export const MEMORY_HEAD = 'What the user told you in earlier conversations:';
export const KNOWLEDGE_HEAD = 'Passages from the knowledge files:';

/** How much of a session's earlier runs goes into the prompt. */
const MAX_EARLIER = 20;
const MAX_EARLIER_LENGTH = 60_000;

interface EarlierRun {
  input: string;
  output: string;
  created_at: Date;
}

/** The agent's own prompt, what is remembered, what its files say, and how to treat text from outside. */
export function systemPrompt(run: RunRow, memories: Memory[], passages: Passage[]): string {
  const parts = [run.agent.systemPrompt];
  if (memories.length > 0)
    parts.push(
      `${MEMORY_HEAD}\n${memories.map(({ content }) => `- ${content.replace(/\s+/g, ' ')}`).join('\n')}`,
    );
  if (passages.length > 0)
    parts.push(
      `${KNOWLEDGE_HEAD}\n${passages.map((passage) => markUntrusted(nameOf(passage), passage.text)).join('\n')}\n` +
        'Answer out of them where they fit, and name file and passage.',
    );
  parts.push(UNTRUSTED_NOTICE);
  return parts.join('\n\n');
}

export const nameOf = ({ filename, position }: Passage): string => `${filename}, passage ${position + 1}`;

/** The step that shows what was used; without the text where the files are another organisation's. */
export function passagesStep(passages: Passage[], own: boolean): string {
  const lines = passages.map((passage) =>
    own ? `- ${nameOf(passage)}: ${excerpt(passage.text)}` : `- ${nameOf(passage)}`,
  );
  return `From the knowledge files:\n${lines.join('\n')}`;
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The session's earlier runs, the history given with the call, and the user's message with what was attached. */
export async function openingMessages(
  run: RunRow,
  { database, files }: { database: Database; files: FileService },
): Promise<ModelMessage[]> {
  const values = [run.org_id, run.agent_id, run.session_id, run.id, MAX_EARLIER];
  const rows = await database.tenantQuery<EarlierRun>(run.org_id, EARLIER, values);
  let length = 0;
  const fitting = rows.filter(
    ({ input, output }) => (length += input.length + output.length) <= MAX_EARLIER_LENGTH,
  );
  const earlier = fitting.reverse().flatMap(({ input, output, created_at }): ModelMessage[] => [
    { role: 'user', content: input },
    { role: 'assistant', content: files.sign(run.org_id, output, created_at) },
  ]);
  const given = run.history.map(({ role, content }): ModelMessage => ({ role, content }));
  return [...earlier, ...given, await userMessage(run, files)];
}

async function userMessage(run: RunRow, files: FileService): Promise<ModelMessage> {
  const texts = [run.input];
  const images: { type: 'file'; data: string; mediaType: string }[] = [];
  for (const attachment of run.attachments) {
    if (attachment.type === 'document') texts.push(markUntrusted(attachment.name, attachment.text));
    else {
      const bytes = await files.read(run.org_id, attachment.fileId);
      images.push({ type: 'file', data: bytes.toString('base64'), mediaType: attachment.contentType });
      texts.push(`[Attached image: ${attachment.name}]`);
    }
  }
  const text = texts.join('\n\n');
  return { role: 'user', content: images.length === 0 ? text : [{ type: 'text', text }, ...images] };
}
