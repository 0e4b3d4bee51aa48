import { useState, type ReactNode } from 'react';
import { usePlace, useAction } from '../data/hooks.js';
import type { Job } from '../data/job.js';
import { rerunInput, type Again } from '../playground/rerun-input.js';
import { EstimateLine, estimateInput } from '../playground/estimate.js';
import { go, href } from '../route.js';
import { Button, FaultNotice } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { useToast } from '../ui/toast.js';

/** Buttons that make a new job with the same input, or open the playground with this input. */
export function RunAgain({ job }: { job: Job }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const again = rerunInput(job);
  if (again === null) return null;
  return (
    <>
      <a
        className="button"
        href={`${href('playground', again.kind.label.toLowerCase())}?job=${encodeURIComponent(job.id)}`}
      >
        Change input
      </a>
      <Button onClick={() => setAsking(true)}>Run again</Button>
      {isAsking && <Question again={again} onClose={() => setAsking(false)} />}
    </>
  );
}

function Question({ again: { kind, input }, onClose }: { again: Again; onClose(): void }): ReactNode {
  const { api } = usePlace();
  const tell = useToast();
  const { run, isBusy, fault } = useAction(async () => {
    const id = await kind.start(api, input as never);
    onClose();
    tell('A new job was made');
    go('jobs', id);
  });
  return (
    <Dialog title="Run this again?" onClose={onClose}>
      <p className="dialog-text">
        The same input and model make a new job, which is charged by itself. This one stays as it is.
      </p>
      <EstimateLine input={estimateInput(kind, input)} />
      <FaultNotice fault={fault} />
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" isBusy={isBusy} onClick={() => void run()}>
          Run again
        </Button>
      </div>
    </Dialog>
  );
}
