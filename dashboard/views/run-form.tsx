import { useState, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import type { Fault } from '../data/fault.js';
import { usePlace } from '../data/hooks.js';
import { RUN_AGENT } from '../data/runs.js';
import { Button } from '../ui/basics.js';
import { TextArea, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';

const ACCEPTED = 'image/png,image/jpeg,image/webp,.pdf,.md,.txt,.csv,.docx';
/** The maximum number of files for one run. */
const MOST_FILES = 10;

interface FormProps {
  agent: Agent;
  /** The conversation to continue; undefined for a new one. */
  sessionId?: string;
  onStarted(run: { id: string; sessionId: string }): void;
}

/** A form that gives a task to an agent, with images and documents. */
export function RunForm({ agent: { id, memoryEnabled }, sessionId, onStarted }: FormProps): ReactNode {
  const { api } = usePlace();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [sent, setSent] = useState<number>();
  const upload = async (file: File) => {
    const { reference } = await api.penstock.upload(file, { onProgress: setSent });
    const type = file.type.startsWith('image/') ? 'image' : 'document';
    return { type, url: reference, name: file.name } as const;
  };
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const user = entered(form, 'user');
    try {
      const attachments = await Promise.all(files.map(upload));
      const { runAgent } = await api.request(RUN_AGENT, {
        id,
        input: {
          input: entered(form, 'input'),
          ...(attachments.length > 0 && { attachments }),
          ...(sessionId !== undefined && { sessionId }),
          ...(user !== '' && { user }),
        },
      });
      form.reset();
      setFiles([]);
      onStarted(runAgent);
    } finally {
      setSent(undefined);
    }
  });
  return (
    <form className="form" onSubmit={onSubmit}>
      <TextArea
        label={sessionId === undefined ? 'Task' : 'Next message'}
        name="input"
        rows={3}
        maxLength={10_000}
        fault={fault}
        required
      />
      {memoryEnabled && <EndUser fault={fault} />}
      <FormFault fault={fault} fields={['input', 'user']} />
      <div className="actions">
        <Button type="submit" kind="primary" isBusy={isBusy}>
          {sessionId === undefined ? 'Run' : 'Send'}
        </Button>
        <Files files={files} onChange={setFiles} />
        {sent !== undefined && files.length > 0 && (
          <span className="hint" role="status">
            {Math.round(sent * 100)} % sent
          </span>
        )}
      </div>
    </form>
  );
}

function EndUser({ fault }: { fault: Fault | undefined }): ReactNode {
  return (
    <div className="narrow">
      <TextField
        label="End user"
        name="user"
        maxLength={200}
        placeholder="Optional"
        hint="What this user told it before is used, and new facts are kept for them."
        fault={fault}
      />
    </div>
  );
}

interface FilesProps {
  files: readonly File[];
  onChange(files: readonly File[]): void;
}

/** The files that will be sent with the task. */
function Files({ files, onChange }: FilesProps): ReactNode {
  return (
    <>
      <label className="button file-button">
        Attach files
        <input
          type="file"
          className="unseen"
          multiple
          accept={ACCEPTED}
          onChange={({ target }) => {
            onChange([...files, ...(target.files ?? [])].slice(0, MOST_FILES));
            target.value = '';
          }}
        />
      </label>
      {files.map((file) => (
        <span key={`${file.name} ${file.lastModified}`} className="chip">
          {file.name}
          <button
            type="button"
            className="close"
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter((one) => one !== file))}
          >
            ×
          </button>
        </span>
      ))}
    </>
  );
}
