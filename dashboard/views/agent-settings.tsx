import type { ReactNode } from 'react';
import { UPDATE_AGENT, type Agent } from '../data/agents.js';
import { usePlace, useRights } from '../data/hooks.js';
import { Card, Notice } from '../ui/basics.js';
import { Time, inDigits } from '../ui/format.js';
import { useToast } from '../ui/toast.js';
import { AgentForm } from './agent-form.js';
import { nameOfTool } from './agent-tools.js';

/** The settings of an agent, editable for people who may change them. */
export function SettingsPanel({ agent }: { agent: Agent }): ReactNode {
  const { api } = usePlace();
  const { canWork } = useRights();
  const tell = useToast();
  if (agent.isTemplate || !canWork) return <Facts agent={agent} />;
  // After a change the form is reset to the values that the server returned.
  return (
    <Card>
      <AgentForm
        key={agent.updatedAt}
        agent={agent}
        verb="Save"
        save={async (entries, isPublic) => {
          // An unchanged value is left out: people who may not change it can still save the other fields.
          const shared = isPublic === agent.isPublic ? {} : { isPublic };
          await api.request(UPDATE_AGENT, { id: agent.id, input: { ...entries, ...shared } });
          tell('Agent saved');
        }}
      />
      <p className="hint">
        <span className="code">{agent.id}</span> · changed <Time iso={agent.updatedAt} />. Runs that have
        started keep the old settings.
      </p>
    </Card>
  );
}

function Facts({ agent }: { agent: Agent }): ReactNode {
  const { id, icon, modelId, tools, temperature, maxTokens, maxIterations, memoryEnabled, systemPrompt } =
    agent;
  return (
    <Card>
      {agent.isTemplate && <Notice kind="note">A template cannot be changed: duplicate it.</Notice>}
      <dl className="facts">
        <dt>Id</dt>
        <dd className="code">{id}</dd>
        <dt>Model</dt>
        <dd className="code">{modelId}</dd>
        <dt>Tools</dt>
        <dd>{tools.map(nameOfTool).join(', ') || 'none'}</dd>
        <dt>Rounds</dt>
        <dd>at most {maxIterations}</dd>
        <dt>Longest answer</dt>
        <dd>{inDigits(maxTokens)} tokens</dd>
        <dt>Temperature</dt>
        <dd>{temperature}</dd>
        <dt>Memory</dt>
        <dd>{memoryEnabled ? 'remembers what users tell it' : 'none'}</dd>
        <dt>Icon</dt>
        <dd>{icon}</dd>
        <dt>Instructions</dt>
        <dd className="pre">{systemPrompt}</dd>
      </dl>
    </Card>
  );
}
