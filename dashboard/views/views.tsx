import type { ReactNode } from 'react';
import type { Route } from '../route.js';
import { AgentView } from './agent-detail.js';
import { RunView } from './agent-run.js';
import { AgentsView } from './agents.js';
import { JobView } from './job-detail.js';
import { JobsView } from './jobs.js';
import { ModelsView } from './models.js';
import { OverviewView } from './overview.js';
import { PlaygroundView } from './playground.js';
import { SettingsView } from './settings.js';
import { UsageView } from './usage.js';
import { WebhookView } from './webhook-detail.js';
import { WebhooksView } from './webhooks.js';

/** An entry of the navigation, and what it shows. */
export interface View {
  /** First part of its routes; empty for the start. */
  name: string;
  label: string;
  /** Path of a 16 × 16 drawing in lines. */
  icon: string;
  /** With the parts of the route that follow the name. */
  render(rest: Route): ReactNode;
}

const OVERVIEW: View = {
  name: '',
  label: 'Overview',
  icon: 'M2 9h5V2H2zM9 6h5V2H9zM9 14h5V8H9zM2 14h5v-3H2z',
  render: () => <OverviewView />,
};

/** In the order of the navigation. */
export const VIEWS: readonly View[] = [
  OVERVIEW,
  {
    name: 'playground',
    label: 'Playground',
    icon: 'M2 3h12v8H7l-3 3v-3H2z',
    render: ([tab]) => <PlaygroundView tab={tab} />,
  },
  {
    name: 'jobs',
    label: 'Jobs',
    icon: 'M2 4h1m3 0h8M2 8h1m3 0h8M2 12h1m3 0h8',
    render: ([id]) => (id === undefined ? <JobsView /> : <JobView id={id} />),
  },
  {
    name: 'agents',
    label: 'Agents',
    icon: 'M3 6h10v7H3zM8 6V3M6 9v1m4-1v1M1 9v2m14-2v2',
    render: ([id, runId]) => {
      if (id === undefined) return <AgentsView />;
      return runId === undefined ? <AgentView id={id} /> : <RunView agentId={id} runId={runId} />;
    },
  },
  {
    name: 'models',
    label: 'Models',
    icon: 'M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6',
    render: () => <ModelsView />,
  },
  {
    name: 'usage',
    label: 'Usage',
    icon: 'M2 14h12M4 11V8m4 3V3m4 8V6',
    render: (filters) => <UsageView filters={filters} />,
  },
  {
    name: 'webhooks',
    label: 'Webhooks',
    icon: 'M2 8h7M6 4l4 4-4 4M13 2v12',
    render: ([id]) => (id === undefined ? <WebhooksView /> : <WebhookView id={id} />),
  },
  {
    name: 'settings',
    label: 'Settings',
    icon: 'M2 4.5h5m4 0h3M2 11.5h3m4 0h5M9 2.8a1.7 1.7 0 1 0 .01 0M7 9.8a1.7 1.7 0 1 0 .01 0',
    render: ([tab]) => <SettingsView tab={tab} />,
  },
];

/** The view of a route; the start for one that is not known. */
export function viewOf([name = '']: Route): View {
  return VIEWS.find((view) => view.name === name) ?? OVERVIEW;
}
