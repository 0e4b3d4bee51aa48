import type { ReactNode } from 'react';
import { useDownload } from '../data/download.js';
import type { UsageParameters } from '../data/usage-sums.js';
import { Button, FaultNotice } from '../ui/basics.js';
import { inDigits } from '../ui/format.js';
import { MenuButton } from '../ui/menu.js';

/** Downloads the operations behind the sums of the view as a file. */
export function UsageDownload({ parameters: { range, filter } }: { parameters: UsageParameters }): ReactNode {
  const { bytes, fault, start, stop } = useDownload();
  const of = { ...filter, ...range };
  if (bytes !== undefined)
    return (
      <span className="actions" role="status">
        {inDigits(bytes / 1_000_000)} MB read
        <Button onClick={stop}>Stop</Button>
      </span>
    );
  return (
    <>
      <FaultNotice fault={fault} />
      <MenuButton
        label="Download"
        name="Download these operations"
        kind="plain"
        entries={[
          { label: 'CSV', onSelect: () => start({ filter: of, format: 'csv' }) },
          { label: 'JSON lines', onSelect: () => start({ filter: of, format: 'jsonl' }) },
        ]}
      />
    </>
  );
}
