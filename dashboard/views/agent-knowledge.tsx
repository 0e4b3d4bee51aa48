import { useState, type DragEvent, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import { toFault, type Fault } from '../data/fault.js';
import { usePlace, useRights } from '../data/hooks.js';
import { ADD_KNOWLEDGE, DELETE_KNOWLEDGE, useKnowledge, type KnowledgeFile } from '../data/knowledge.js';
import { Badge, Card, Empty, FaultNotice, Loading, Notice, type Tone } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asBytes, inDigits } from '../ui/format.js';
import { Meter } from '../ui/meter.js';
import { DataTable, type Column } from '../ui/table.js';

const TONES: Record<KnowledgeFile['status'], Tone> = {
  pending: 'calm',
  processing: 'busy',
  completed: 'good',
  failed: 'bad',
};

/** The states of a document, in words for the person who uploaded it. */
const STATES: Record<KnowledgeFile['status'], string> = {
  pending: 'waiting',
  processing: 'reading',
  completed: 'in use',
  failed: 'failed',
};

/** The documents that an agent answers from. */
export function KnowledgePanel({ agent }: { agent: Agent }): ReactNode {
  const { canWork } = useRights();
  if (agent.isTemplate)
    return <Notice kind="note">A template has no documents: duplicate it to give it some.</Notice>;
  return <Documents agentId={agent.id} canWork={canWork} />;
}

function Documents({ agentId, canWork }: { agentId: string; canWork: boolean }): ReactNode {
  const { items: files, fault, isLoading, reload } = useKnowledge(agentId);
  const passages = files?.reduce((sum, { chunkCount }) => sum + chunkCount, 0) ?? 0;
  return (
    <>
      {canWork && <Uploads agentId={agentId} onUploaded={reload} />}
      <Card
        title="Documents"
        note={passages > 0 && `${inDigits(passages)} passages; those that fit a task go along with it.`}
      >
        {files === undefined && isLoading && <Loading />}
        <FaultNotice fault={fault} retry={reload} />
        {files?.length === 0 && <Empty title="No documents yet">What is in them, the agent knows.</Empty>}
        {files !== undefined && files.length > 0 && (
          <DataTable
            caption="Documents, newest first"
            columns={[...COLUMNS, ...(canWork ? [deletion(agentId, reload)] : [])]}
            items={files}
            rowKey={({ id }) => id}
          />
        )}
      </Card>
    </>
  );
}

const COLUMNS: Column<KnowledgeFile>[] = [
  { label: 'File', cell: ({ filename }) => filename, sort: ({ filename }) => filename },
  {
    label: 'State',
    cell: ({ status, errorMessage }) => (
      <>
        <Badge tone={TONES[status]}>{STATES[status]}</Badge>
        {errorMessage !== null && <span className="reason line">{errorMessage}</span>}
      </>
    ),
  },
  {
    label: 'Passages',
    isNumber: true,
    cell: ({ chunkCount }) => inDigits(chunkCount),
    sort: ({ chunkCount }) => chunkCount,
  },
  {
    label: 'Size',
    isNumber: true,
    cell: ({ sizeBytes }) => asBytes(sizeBytes),
    sort: ({ sizeBytes }) => sizeBytes,
  },
  { label: 'Uploaded', cell: ({ createdAt }) => <Time iso={createdAt} /> },
];

function deletion(agentId: string, reload: () => void): Column<KnowledgeFile> {
  return {
    label: 'Delete',
    cell: ({ id, filename }) => <DeleteButton {...{ agentId, id, filename, reload }} />,
  };
}

interface DeleteProps extends Pick<KnowledgeFile, 'id' | 'filename'> {
  agentId: string;
  reload(): void;
}

function DeleteButton({ agentId, id, filename, reload }: DeleteProps): ReactNode {
  const { api } = usePlace();
  return (
    <ConfirmButton
      label="Delete"
      name={`Delete ${filename}`}
      question={`Delete ${filename}?`}
      work={() => api.request(DELETE_KNOWLEDGE, { agentId, id }).then(reload)}
    >
      Runs stop using it at once.
    </ConfirmButton>
  );
}

/** A file that is being uploaded. */
interface Upload {
  name: string;
  percent: number;
  fault?: Fault;
}

/** Uploads files. Each file is sent separately, so a refused file does not stop the others. */
function useUploads(
  agentId: string,
  onUploaded: () => void,
): { uploads: ReadonlyMap<string, Upload>; send(files: Iterable<File>): void } {
  const { api } = usePlace();
  const [uploads, setUploads] = useState<ReadonlyMap<string, Upload>>(new Map());
  const set = (key: string, upload: Upload | null): void =>
    setUploads((before) => {
      const next = new Map(before);
      if (upload === null) next.delete(key);
      else next.set(key, upload);
      return next;
    });
  const sendOne = async (file: File): Promise<void> => {
    const { name } = file;
    const key = `${name} ${file.lastModified}`;
    set(key, { name, percent: 0 });
    try {
      const { reference } = await api.penstock.upload(file, {
        purpose: 'knowledge',
        onProgress: (part) => set(key, { name, percent: part * 100 }),
      });
      await api.request(ADD_KNOWLEDGE, { agentId, input: { filename: name, content: reference } });
      set(key, null);
    } catch (thrown) {
      set(key, { name, percent: 100, fault: toFault(thrown) });
    }
    onUploaded();
  };
  return {
    uploads,
    send(files) {
      // Each upload shows its own fault.
      for (const file of files) void sendOne(file);
    },
  };
}

/** Accepts files that are dropped or chosen, and shows their uploads. */
function Uploads({ agentId, onUploaded }: { agentId: string; onUploaded(): void }): ReactNode {
  const { uploads, send } = useUploads(agentId, onUploaded);
  const [isOver, setOver] = useState(false);
  const hover = (isOnIt: boolean) => (event: DragEvent) => {
    event.preventDefault();
    setOver(isOnIt);
  };
  return (
    <Card>
      <label
        className={isOver ? 'drop is-over' : 'drop'}
        onDragOver={hover(true)}
        onDragLeave={hover(false)}
        onDrop={(event) => {
          hover(false)(event);
          send(event.dataTransfer.files);
        }}
      >
        <strong>Upload documents</strong>
        <span className="hint">Drop PDF, Markdown, text, CSV or DOCX here, or press to choose.</span>
        <input
          type="file"
          className="unseen"
          multiple
          accept=".pdf,.md,.txt,.csv,.docx"
          onChange={({ target }) => {
            send([...(target.files ?? [])]);
            target.value = '';
          }}
        />
      </label>
      {[...uploads].map(([key, upload]) => (
        <UploadLine key={key} upload={upload} />
      ))}
    </Card>
  );
}

function UploadLine({ upload: { name, percent, fault } }: { upload: Upload }): ReactNode {
  if (fault !== undefined)
    return (
      <Notice kind="fault">
        {name}: {fault.message}
      </Notice>
    );
  return (
    <div>
      <p className="hint">{name}</p>
      <Meter isProgress label={`${name}, ${Math.round(percent)} percent sent`} percent={percent} />
    </div>
  );
}
