import { useState, type ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
import { usePlace } from '../data/hooks.js';
import { isUnfinished, useCancelJob, useJob } from '../data/job.js';
import { href } from '../route.js';
import { Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { SelectField, TextArea, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { asAmount } from '../ui/format.js';
import { JobBadge } from '../ui/job-table.js';
import { OutputPreview } from '../ui/media.js';
import { Meter } from '../ui/meter.js';
import { ModelSelect } from '../ui/model-select.js';

const GENERATE = graphql(`
  mutation GenerateImage($input: GenerateImageInput!) {
    generateImage(input: $input, async: true) {
      job {
        id
      }
    }
  }
`);

const SIZES = ['1024x1024', '512x512', '1792x1024', '1024x1792', '1536x1024', '1024x1536'];
const FIELDS = ['prompt', 'negativePrompt', 'size', 'n'];

/** Something asked for in this view. */
interface Work {
  id: string;
  prompt: string;
}

/** Pictures, with their progress while they are made. */
export function ImagePanel(): ReactNode {
  const [works, setWorks] = useState<Work[]>([]);
  return (
    <div className="play">
      <Card title="New image">
        <ImageForm onStarted={(work) => setWorks((before) => [work, ...before])} />
      </Card>
      <div className="works">
        {works.length === 0 && (
          <Card>
            <Empty title="Describe a picture">
              It is made as a job: you see how far it is, and it stays under Jobs.
            </Empty>
          </Card>
        )}
        {works.map((work) => (
          <WorkCard key={work.id} work={work} />
        ))}
      </div>
    </div>
  );
}

function ImageForm({ onStarted }: { onStarted(work: Work): void }): ReactNode {
  const { api } = usePlace();
  const [model, setModel] = useState('');
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const prompt = entered(form, 'prompt');
    const negativePrompt = entered(form, 'negativePrompt');
    const input = {
      prompt,
      size: entered(form, 'size'),
      n: Number(entered(form, 'n')),
      ...(negativePrompt === '' ? {} : { negativePrompt }),
      ...(model === '' ? {} : { model }),
    };
    const { generateImage } = await api.request(GENERATE, { input });
    onStarted({ id: generateImage.job.id, prompt });
  });
  return (
    <form className="form" onSubmit={onSubmit}>
      <TextArea
        label="Prompt"
        name="prompt"
        rows={4}
        placeholder="A dam in the morning light"
        fault={fault}
        required
      />
      <ModelSelect type="image" value={model} onChange={setModel} />
      <div className="field-row">
        <SelectField label="Size" name="size" fault={fault}>
          {SIZES.map((size) => (
            <option key={size} value={size}>
              {size.replace('x', ' × ')}
            </option>
          ))}
        </SelectField>
        <TextField
          label="How many"
          name="n"
          type="number"
          min={1}
          max={10}
          defaultValue={1}
          fault={fault}
          required
        />
      </div>
      <TextField label="Not in it" name="negativePrompt" placeholder="Optional" fault={fault} />
      <FormFault fault={fault} fields={FIELDS} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Generate
      </Button>
    </form>
  );
}

function WorkCard({ work: { id, prompt } }: { work: Work }): ReactNode {
  const { job, fault, lost, reload } = useJob(id);
  const cancel = useCancelJob();
  return (
    <section className="card" aria-label={prompt}>
      <header className="card-head">
        <h2 className="clamp">{prompt}</h2>
        <span className="actions">
          {job && <JobBadge status={job.status} />}
          {job && isUnfinished(job) && (
            <ConfirmButton label="Cancel" question="Cancel this job?" work={() => cancel(id)}>
              Nothing is charged for it.
            </ConfirmButton>
          )}
        </span>
      </header>
      {job === undefined && fault === undefined && <Loading rows={1} />}
      <FaultNotice fault={fault ?? lost} retry={reload} />
      {job && isUnfinished(job) && <Meter isProgress label="Progress" percent={job.progress} />}
      {job && job.errorMessage !== null && <p className="field-fault">{job.errorMessage}</p>}
      {job && <OutputPreview output={job.outputData} label={prompt} />}
      {job && (
        <p className="hint">
          {job.model}
          {job.actualCredits !== null && ` · ${asAmount(job.actualCredits, 'credits')}`} ·{' '}
          <a href={href('jobs', id)}>Details</a>
        </p>
      )}
    </section>
  );
}
