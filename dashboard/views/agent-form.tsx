import { useState, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import type { Fault } from '../data/fault.js';
import { Button } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { TextArea, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { ModelSelect } from '../ui/model-select.js';
import { ToolChoices } from './agent-tools.js';

/** The entered values of an agent. An empty field is absent, and the server then uses its default. */
export interface AgentEntries {
  name: string;
  description: string;
  icon: string | null;
  systemPrompt: string;
  tools: string[];
  memoryEnabled: boolean;
  model: string | null;
  temperature: number | null;
  maxTokens: number | null;
  maxIterations: number | null;
}

const NAMES = ['name', 'description', 'icon', 'systemPrompt', 'temperature', 'maxTokens', 'maxIterations'];
const FIELDS = [...NAMES, 'tools'];

/** REST spells the names of parameters with underscores, and so does the fault. */
const asEntered = (fault: Fault | undefined): Fault | undefined =>
  fault?.param === undefined
    ? fault
    : Object.assign(fault, {
        param: fault.param.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      });

const numberIn = (form: HTMLFormElement, name: string): number | null =>
  entered(form, name) === '' ? null : Number(entered(form, name));

interface FormProps {
  /** Undefined for a new agent. */
  agent?: Agent;
  verb: string;
  /** Saves the agent. @param isPublic can be changed only for an existing agent */
  save(entries: AgentEntries, isPublic: boolean): Promise<unknown>;
  onCancel?(): void;
}

/** A form with all fields of an agent. */
export function AgentForm({ agent, verb, save, onCancel }: FormProps): ReactNode {
  const [model, setModel] = useState(agent?.modelId ?? '');
  const [tools, setTools] = useState<ReadonlySet<string>>(() => new Set(agent?.tools));
  const {
    fault: given,
    isBusy,
    onSubmit,
  } = useForm((form) =>
    save(
      {
        name: entered(form, 'name'),
        description: entered(form, 'description'),
        icon: entered(form, 'icon') || null,
        systemPrompt: entered(form, 'systemPrompt'),
        tools: [...tools],
        memoryEnabled: entered(form, 'memory') === 'on',
        model: model || null,
        temperature: numberIn(form, 'temperature'),
        maxTokens: numberIn(form, 'maxTokens'),
        maxIterations: numberIn(form, 'maxIterations'),
      },
      entered(form, 'public') === 'on',
    ),
  );
  const fault = asEntered(given);
  return (
    <form className="form" onSubmit={onSubmit}>
      <Texts agent={agent} fault={fault} />
      <ModelSelect type="chat" value={model} onChange={setModel} />
      <Limits agent={agent} fault={fault} />
      <ToolChoices chosen={tools} fault={fault} onChange={setTools} />
      <Checks agent={agent} />
      <FormFault fault={fault} fields={FIELDS} />
      <div className="dialog-actions">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button type="submit" kind="primary" isBusy={isBusy}>
          {verb}
        </Button>
      </div>
    </form>
  );
}

interface PartProps {
  agent: Agent | undefined;
  fault: Fault | undefined;
}

function Texts({ agent, fault }: PartProps): ReactNode {
  return (
    <>
      <div className="field-row">
        <TextField
          label="Name"
          name="name"
          maxLength={100}
          defaultValue={agent?.name}
          fault={fault}
          required
        />
        <TextField
          label="Icon"
          name="icon"
          maxLength={100}
          placeholder="bot"
          defaultValue={agent?.icon}
          fault={fault}
        />
      </div>
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
        rows={agent === undefined ? 5 : 10}
        maxLength={10_000}
        defaultValue={agent?.systemPrompt}
        fault={fault}
        required
      />
    </>
  );
}

/** The limits of the model's answers and of a run's length. */
function Limits({ agent, fault }: PartProps): ReactNode {
  return (
    <div className="field-row">
      <TextField
        label="Temperature"
        name="temperature"
        type="number"
        min={0}
        max={2}
        step="any"
        placeholder="0.7"
        defaultValue={agent?.temperature}
        fault={fault}
      />
      <TextField
        label="Longest answer"
        name="maxTokens"
        type="number"
        min={100}
        max={8000}
        placeholder="4000 tokens"
        defaultValue={agent?.maxTokens}
        fault={fault}
      />
      <TextField
        label="Most rounds"
        name="maxIterations"
        type="number"
        min={1}
        max={20}
        placeholder="10, or the plan’s"
        defaultValue={agent?.maxIterations}
        fault={fault}
      />
    </div>
  );
}

function Checks({ agent }: { agent: Agent | undefined }): ReactNode {
  return (
    <div className="checks">
      <label className="check">
        <input type="checkbox" name="memory" defaultChecked={agent?.memoryEnabled} />
        Remember what users tell it
      </label>
      {agent && (
        <label className="check">
          <input type="checkbox" name="public" defaultChecked={agent.isPublic} />
          Let other organisations read, run and copy it
        </label>
      )}
    </div>
  );
}

interface DialogProps {
  onClose(): void;
  save(entries: AgentEntries): Promise<unknown>;
}

/** The dialog that creates an agent. */
export function AgentDialog({ onClose, save }: DialogProps): ReactNode {
  return (
    <Dialog title="New agent" onClose={onClose}>
      <AgentForm verb="Create agent" save={save} onCancel={onClose} />
    </Dialog>
  );
}
