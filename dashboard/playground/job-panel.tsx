import { useState, type ReactNode } from 'react';
import { usePlace } from '../data/hooks.js';
import { isUnfinished, useCancelJob, useJob } from '../data/job.js';
import { href } from '../route.js';
import { Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { FormFault, useForm } from '../ui/form.js';
import { chargeOf } from '../ui/charge.js';
import { Time } from '../ui/format.js';
import { JobBadge } from '../ui/job-state.js';
import { OutputPreview } from '../ui/media.js';
import { Meter } from '../ui/meter.js';
import { ModelSelect } from '../ui/model-select.js';
import { rerunInput, valuesOf } from './rerun-input.js';
import { CodeView } from './code-view.js';
import { EstimateLine, estimateInput } from './estimate.js';
import { FieldInputs } from './field-inputs.js';
import { inputOf, isComplete, type Values } from './fields.js';
import { useHistory, type Work } from './history.js';
import type { JobKind } from './kinds.js';

/** The values that are chosen when the form opens. */
const usualOf = ({ fields }: JobKind): Values =>
  Object.fromEntries(
    fields.flatMap((field) => (field.kind === 'choice' && field.usual ? [[field.name, field.usual]] : [])),
  );

interface PanelProps {
  kind: JobKind;
  /** The values at the start. */
  initial?: Values;
}

/** A panel whose form starts with the input of a job. */
export function JobPanelOf({ kind, jobId }: { kind: JobKind; jobId: string }): ReactNode {
  const { job, fault, reload } = useJob(jobId);
  const again = job && rerunInput(job);
  if (job === undefined && fault === undefined) return <Loading rows={4} />;
  return (
    <>
      <FaultNotice fault={fault} retry={reload} />
      <JobPanel kind={kind} {...(again?.kind === kind && { initial: valuesOf(again) })} />
    </>
  );
}

/** A form for one kind of generation, and the job that it starts. */
export function JobPanel({ kind, initial }: PanelProps): ReactNode {
  const [values, setValues] = useState<Values>(() => ({ ...usualOf(kind), ...initial }));
  const { works, add, clear } = useHistory(kind.name);
  return (
    <div className="play">
      <Card title={kind.label}>
        <JobForm kind={kind} values={values} onChange={setValues} onStarted={add} />
      </Card>
      <div className="works">
        {works.length === 0 && (
          <Card>
            <Empty title="Nothing tried yet">
              It is made as a job: you see how far it is, and it stays under Jobs.
            </Empty>
          </Card>
        )}
        {works.map((work) => (
          <WorkCard
            key={work.id}
            work={work}
            onAgain={() => setValues({ ...usualOf(kind), ...work.values })}
          />
        ))}
        {works.length > 0 && (
          <p>
            <Button kind="quiet" onClick={clear}>
              Clear this history
            </Button>{' '}
            <span className="hint">It is kept in this browser only; the jobs stay.</span>
          </p>
        )}
      </div>
    </div>
  );
}

interface FormProps {
  kind: JobKind;
  values: Values;
  onChange(values: Values): void;
  onStarted(work: Work): void;
}

/** The input, or null while a required value is missing. */
function inputNow({ fields }: JobKind, values: Values): Record<string, unknown> | null {
  const { model = '' } = values;
  const input = isComplete(fields, values) ? inputOf(fields, values) : null;
  return input === null || model === '' ? input : { ...input, model };
}

function JobForm({ kind, values, onChange, onStarted }: FormProps): ReactNode {
  const { api } = usePlace();
  const { path, mutation, inputType, fields } = kind;
  const input = inputNow(kind, values);
  const { fault, isBusy, onSubmit } = useForm(async () => {
    if (input === null) return;
    const id = await kind.start(api, input as never);
    onStarted({ id, title: kind.title(values), at: new Date().toISOString(), values });
  });
  const set = (name: string, value: string): void => onChange({ ...values, [name]: value });
  return (
    <form className="form" onSubmit={onSubmit}>
      <FieldInputs fields={fields} values={values} fault={fault} onChange={set} />
      <ModelSelect type={kind.name} value={values['model'] ?? ''} onChange={(model) => set('model', model)} />
      <FormFault fault={fault} fields={fields.map(({ name }) => name)} />
      <EstimateLine input={input === null ? null : estimateInput(kind, input)} />
      <Button type="submit" kind="primary" isBusy={isBusy} disabled={input === null}>
        {kind.verb}
      </Button>
      <CodeView
        call={{
          path: `api/v1/${path}`,
          input: input ?? inputOf(fields, values),
          graphql: {
            kind: 'mutation',
            field: mutation,
            inputType,
            selection: '{ job { id status outputData } }',
          },
        }}
      />
    </form>
  );
}

const GONE = 404;

function WorkCard({ work: { id, title, at }, onAgain }: { work: Work; onAgain(): void }): ReactNode {
  const { job, fault, lost, reload } = useJob(id);
  const cancel = useCancelJob();
  const isGone = fault?.status === GONE;
  return (
    <section className="card" aria-label={title}>
      <header className="card-head">
        <h2 className="clamp">{title}</h2>
        <span className="actions">
          {job && <JobBadge status={job.status} />}
          {job && isUnfinished(job) && (
            <ConfirmButton label="Cancel" question="Cancel this job?" work={() => cancel(id)}>
              Nothing is charged for it.
            </ConfirmButton>
          )}
          <Button kind="quiet" onClick={onAgain}>
            Use again
          </Button>
        </span>
      </header>
      {job === undefined && fault === undefined && <Loading rows={1} />}
      {isGone ? (
        <p className="muted">Its job is no longer kept.</p>
      ) : (
        <FaultNotice fault={fault ?? lost} retry={reload} />
      )}
      {job && isUnfinished(job) && <Meter isProgress label="Progress" percent={job.progress} />}
      {job && job.errorMessage !== null && <p className="field-fault">{job.errorMessage}</p>}
      {job && <OutputPreview output={job.outputData} label={title} />}
      <p className="hint">
        <Time iso={at} />
        {job && ` · ${job.modelId}`}
        {job && !isUnfinished(job) && ` · ${chargeOf(job, job.usage?.amounts)}`}
        {job && (
          <>
            {' '}
            · <a href={href('jobs', id)}>Details</a>
          </>
        )}
      </p>
    </section>
  );
}
