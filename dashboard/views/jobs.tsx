import { useNavigate, useSearch } from '@tanstack/react-router';
import type { JobsFilter } from '@penstock/client';
import { useMemo, type ReactNode } from 'react';
import { useCharges } from '../data/charges.js';
import { endOfDay, startOfDay } from '../data/days.js';
import { JOB_STATUSES, readJobFilter, type JobSearch } from '../data/job-filter.js';
import { useJobs } from '../data/jobs.js';
import { JOB_TOOLS } from '../data/words.generated.js';
import { Card, Empty } from '../ui/basics.js';
import { Filters, KeyFilter, ModelFilter, TextFilter, WordFilter } from '../ui/filters.js';
import { JobTable } from '../ui/job-table.js';
import { PageFrame } from '../ui/page.js';

const PAGE = 25;

function filterOf({ tool, status, model, key, text, from, to }: JobSearch): JobsFilter {
  const filter: NonNullable<JobsFilter['filter']> = {
    ...(tool && { tools: [tool] }),
    ...(status && { statuses: [status] }),
    ...(model && { models: [model] }),
    ...(key && { keyIds: [key] }),
    ...(text && { prompt: text }),
    ...(from && { since: startOfDay(from) }),
    ...(to && { until: endOfDay(to) }),
  };
  return { pageSize: PAGE, filter };
}

/** All jobs of the organisation, updated live. */
export function JobsView(): ReactNode {
  const search = useSearch({ from: '/jobs' });
  const navigate = useNavigate({ from: '/jobs' });
  const named = JSON.stringify(search);
  const filter = useMemo(() => filterOf(JSON.parse(named) as JobSearch), [named]);
  const jobs = useJobs(filter);
  const charges = useCharges(jobs.items, filter);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const choose = (changed: Record<string, string>): void =>
    void navigate({ search: readJobFilter({ ...search, ...changed }) });
  return (
    <PageFrame title="Jobs" note="Pictures, films, music, speech and transcripts; the list is live.">
      <Filters isFiltered={isFiltered} to="/jobs">
        <WordFilter label="Kind" name="tool" words={JOB_TOOLS} value={search.tool} onChoose={choose} />
        <WordFilter
          label="State"
          name="status"
          words={JOB_STATUSES}
          value={search.status}
          onChoose={choose}
        />
        <ModelFilter value={search.model} onChoose={choose} />
        <KeyFilter value={search.key} onChoose={choose} />
        <TextFilter label="Prompt holds" name="text" value={search.text} onChoose={choose} />
        <TextFilter label="From" name="from" type="date" value={search.from} onChoose={choose} />
        <TextFilter label="To" name="to" type="date" value={search.to} onChoose={choose} />
      </Filters>
      <Card>
        <JobTable
          pages={jobs}
          charges={charges}
          empty={
            <Empty title={isFiltered ? 'No such jobs' : 'No jobs yet'}>
              {isFiltered
                ? 'Others may be there: change the filters.'
                : 'They appear here as soon as they are made.'}
            </Empty>
          }
        />
      </Card>
    </PageFrame>
  );
}
