import { useId, type ReactNode } from 'react';
import { AGENT_TOOLS, type Tool } from '../data/agents.js';
import type { Fault } from '../data/fault.js';
import { useQuery } from '../data/hooks.js';
import { FaultNotice, Loading } from '../ui/basics.js';
import { asAmount, asWords } from '../ui/format.js';

interface ChoicesProps {
  chosen: ReadonlySet<string>;
  fault: Fault | undefined;
  onChange(chosen: ReadonlySet<string>): void;
}

/** The tools of one source: Penstock itself, or an MCP server. */
interface Group {
  title: string;
  tools: readonly Tool[];
}

/** Groups the tools by source. A tool that the agent has but that is no longer offered stays among the choices. */
function groupsOf(tools: readonly Tool[], chosen: ReadonlySet<string>): Group[] {
  const servers = new Set(tools.flatMap(({ server }) => server ?? []));
  const known = new Set(tools.map(({ id }) => id));
  const gone = [...chosen]
    .filter((id) => !known.has(id))
    .map((id) => ({ id, description: 'Not offered now.', credits: 0, server: null }));
  const groups = [
    { title: 'Tools', tools: tools.filter(({ server }) => server === null) },
    ...[...servers].map((name) => ({
      title: `MCP server ${name}`,
      tools: tools.filter(({ server }) => server === name),
    })),
    { title: 'No longer offered', tools: gone },
  ];
  return groups.filter((group) => group.tools.length > 0);
}

/** The name of a tool within its source. */
export const nameOfTool = (id: string): string =>
  id.startsWith('mcp:') ? id.slice(id.indexOf('/') + 1) : asWords(id);

/** The price of one call. */
const priceOf = ({ credits }: Tool): string =>
  credits === 0 ? 'its tokens' : `${asAmount(credits, 'credits')} a call`;

/** The tools that an agent may use, each with its price. */
export function ToolChoices({ chosen, fault, onChange }: ChoicesProps): ReactNode {
  const { data, fault: unread, isLoading, reload } = useQuery(AGENT_TOOLS, {});
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  return (
    <>
      <FaultNotice fault={unread} retry={reload} />
      {data === undefined && isLoading && <Loading rows={4} />}
      {data &&
        groupsOf(data.agentTools, chosen).map(({ title, tools }) => (
          <fieldset key={title} className="choices">
            <legend>{title}</legend>
            <div className="tool-list">
              {tools.map((tool) => (
                <ToolChoice
                  key={tool.id}
                  tool={tool}
                  isChosen={chosen.has(tool.id)}
                  onToggle={() => toggle(tool.id)}
                />
              ))}
            </div>
          </fieldset>
        ))}
      {fault?.param === 'tools' && (
        <p className="field-fault" role="alert">
          {fault.message}
        </p>
      )}
    </>
  );
}

interface ChoiceProps {
  tool: Tool;
  isChosen: boolean;
  onToggle(): void;
}

function ToolChoice({ tool, isChosen, onToggle }: ChoiceProps): ReactNode {
  const id = useId();
  return (
    <label className="tool">
      <input
        type="checkbox"
        name="tools"
        checked={isChosen}
        aria-labelledby={`${id}-name`}
        aria-describedby={`${id}-price ${id}-note`}
        onChange={onToggle}
      />
      <span>
        <strong id={`${id}-name`}>{nameOfTool(tool.id)}</strong>
        <span className="hint line" id={`${id}-note`}>
          {tool.description}
        </span>
      </span>
      <span className="tool-price" id={`${id}-price`}>
        {priceOf(tool)}
      </span>
    </label>
  );
}
