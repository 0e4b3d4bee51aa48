import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Charges } from '../data/charges.js';
import type { JobRow } from '../data/jobs.js';
import type { Pages } from '../data/pages.js';
import { chargeOf } from './charge.js';
import { Time, asWords } from './format.js';
import { JobState, jobDuration, subjectOf } from './job-state.js';
import { PagedTable, type Column } from './table.js';
import { Thumbnail } from './thumbnail.js';

const columnsOf = (charges: Charges): Column<JobRow>[] => [
  {
    label: 'Job',
    cell: (job) => (
      <div className="job-name">
        <Thumbnail job={job} />
        <span>
          <Link to="/jobs/$id" params={{ id: job.id }}>
            {asWords(job.tool)}
          </Link>
          <span className="muted line">{subjectOf(job.inputParams)}</span>
        </span>
      </div>
    ),
  },
  {
    label: 'State',
    cell: (job) => (
      <>
        <JobState job={job} />
        {job.errorMessage !== null && <span className="reason line">{job.errorMessage}</span>}
      </>
    ),
  },
  { label: 'Model', cell: ({ modelId }) => <span className="code">{modelId}</span> },
  {
    label: 'Charged',
    isNumber: true,
    cell: (job) => chargeOf(job, charges.get(job.id)),
  },
  { label: 'Took', isNumber: true, cell: jobDuration },
  { label: 'Made', cell: ({ createdAt }) => <Time iso={createdAt} /> },
];

interface JobTableProps {
  pages: Pages<JobRow>;
  charges: Charges;
  empty: ReactNode;
}

/** A table of jobs, updated live. */
export function JobTable({ pages, charges, empty }: JobTableProps): ReactNode {
  return (
    <PagedTable
      caption="Jobs, newest first"
      columns={columnsOf(charges)}
      pages={pages}
      rowKey={({ id }) => id}
      empty={empty}
    />
  );
}
