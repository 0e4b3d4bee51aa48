import { useState, type ReactNode } from 'react';
import { useJobs, type JobTool } from '../data/jobs.js';
import { JOB_TOOLS } from '../data/words.generated.js';
import { Card, Empty } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { asWords } from '../ui/format.js';
import { JobTable } from '../ui/job-table.js';
import { PageFrame } from '../ui/page.js';

const PAGE = 20;

/** All jobs of the organisation, live. */
export function JobsView(): ReactNode {
  const [tool, setTool] = useState('');
  const [pending, setPending] = useState(false);
  const jobs = useJobs({ first: PAGE, pending, ...(tool === '' ? {} : { tool: tool as JobTool }) });
  const isFiltered = tool !== '' || pending;
  return (
    <PageFrame title="Jobs" note="Pictures, films, music, speech and transcripts; the list is live.">
      <div className="filters">
        <SelectField label="Kind" name="tool" value={tool} onChange={({ target }) => setTool(target.value)}>
          <option value="">All kinds</option>
          {JOB_TOOLS.map((one) => (
            <option key={one} value={one}>
              {asWords(one)}
            </option>
          ))}
        </SelectField>
        <label className="check">
          <input type="checkbox" checked={pending} onChange={({ target }) => setPending(target.checked)} />
          Unfinished only
        </label>
      </div>
      <Card>
        <JobTable
          pages={jobs}
          empty={
            <Empty title={isFiltered ? 'No such jobs' : 'No jobs yet'}>
              {isFiltered
                ? 'Others may be there: change the filter.'
                : 'They appear here as soon as they are made.'}
            </Empty>
          }
        />
      </Card>
    </PageFrame>
  );
}
