import { useState, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import { AGENT_TOOLS } from '../data/words.generated.js';
import { Button } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { Choices, TextArea, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { asWords } from '../ui/format.js';
import { ModelSelect } from '../ui/model-select.js';

/** What is entered of an agent. */
export interface AgentEntries {
  name: string;
  description: string;
  systemPrompt: string;
  tools: string[];
  memoryEnabled: boolean;
  model?: string;
}

interface AgentDialogProps {
  title: string;
  /** Absent where a new one is made. */
  agent?: Agent;
  onClose(): void;
  save(entries: AgentEntries): Promise<unknown>;
}

const FIELDS = ['name', 'description', 'systemPrompt', 'tools'];

/** Makes or changes an agent. */
export function AgentDialog({ title, agent, onClose, save }: AgentDialogProps): ReactNode {
  const [model, setModel] = useState(agent?.model ?? '');
  const [tools, setTools] = useState<ReadonlySet<string>>(() => new Set(agent?.tools));
  const { fault, isBusy, onSubmit } = useForm((form) =>
    save({
      name: entered(form, 'name'),
      description: entered(form, 'description'),
      systemPrompt: entered(form, 'systemPrompt'),
      memoryEnabled: entered(form, 'memory') === 'on',
      tools: [...tools],
      ...(model === '' ? {} : { model }),
    }),
  );
  // What an agent was granted and this list does not know stays among the choices.
  const known = [...new Set([...AGENT_TOOLS, ...(agent?.tools ?? [])])];
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <Texts agent={agent} fault={fault} />
        <ModelSelect type="chat" value={model} onChange={setModel} />
        <Choices
          legend="Tools"
          name="tools"
          choices={known.map((value) => ({ value, label: asWords(value) }))}
          chosen={tools}
          fault={fault}
          onChange={setTools}
        />
        <label className="check">
          <input type="checkbox" name="memory" defaultChecked={agent?.memoryEnabled} />
          Remember what users tell it
        </label>
        <FormFault fault={fault} fields={FIELDS} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {agent === undefined ? 'Create agent' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Texts({
  agent,
  fault,
}: Pick<AgentDialogProps, 'agent'> & Pick<ReturnType<typeof useForm>, 'fault'>): ReactNode {
  return (
    <>
      <TextField label="Name" name="name" maxLength={100} defaultValue={agent?.name} fault={fault} required />
      <TextField
        label="Description"
        name="description"
        maxLength={500}
        defaultValue={agent?.description}
        fault={fault}
      />
      <TextArea
        label="Instructions"
        name="systemPrompt"
        rows={5}
        maxLength={10_000}
        defaultValue={agent?.systemPrompt}
        fault={fault}
        required
      />
    </>
  );
}
