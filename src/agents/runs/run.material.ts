import type { KnowledgeService } from '../agents.types.js';
import type { Material } from '../tools/tool.types.js';
import { nameOf } from './run.prompt.js';
import type { RunRow } from './run.row.js';

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];

/** The paragraphs of a run's documents that hold the most of the words; at least one of them. */
function fromDocuments({ attachments }: RunRow, query: string): Material[] {
  const wanted = new Set(wordsOf(query));
  return attachments
    .flatMap((attachment) =>
      attachment.type === 'document'
        ? attachment.text.split(/\n[^\S\n]*\n\s*/).map((text, at) => {
            const held = new Set(wordsOf(text).filter((word) => wanted.has(word)));
            return { source: `${attachment.name}, paragraph ${at + 1}`, text, held: held.size };
          })
        : [],
    )
    .filter(({ held }) => held > 0)
    .sort((a, b) => b.held - a.held)
    .map(({ source, text }) => ({ source, text }));
}

/** What a run's documents and its agent's files say on something. The text of another organisation's files is not told. */
export async function materialOf(
  run: RunRow,
  knowledge: Pick<KnowledgeService, 'search'>,
  { query, limit }: { query: string; limit: number },
): Promise<Material[]> {
  const { agent_org_id: agentOrgId, agent_id: agentId, org_id: orgId } = run;
  const passages = agentOrgId === null ? [] : await knowledge.search({ agentId, agentOrgId, query, limit });
  const known = passages.map((passage) => ({
    source: nameOf(passage),
    text: agentOrgId === orgId ? passage.text : null,
  }));
  return [...fromDocuments(run, query), ...known].slice(0, limit);
}
