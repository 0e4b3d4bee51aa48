import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { readAgentSearch } from './data/agents.js';
import { readJobFilter } from './data/job-filter.js';
import { readModelFilter } from './data/model-filter.js';
import { part } from './data/part.js';
import { readPlaygroundSearch } from './data/playground-search.js';
import { readUsageFilter } from './data/usage-filter.js';
import { readRequestFilter } from './data/request-filter.js';
import { readSearch, writeSearch } from './data/search.js';
import { Frame } from './frame.js';
import { Pending } from './ui/pending.js';
import { BrokenAddress, NoSuchView } from './views/not-found.js';

const root = createRootRoute({ component: Frame, notFoundComponent: NoSuchView });

/** A view is loaded when it is first shown, or when a link to it is about to be followed. */
const view: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(part(load), name);

/** The parent and the path of a route. */
const at = <const Path extends string>(path: Path) => ({ getParentRoute: () => root, path });

const tree = root.addChildren([
  createRoute({
    ...at('/'),
    component: view(() => import('./views/overview.js'), 'OverviewView'),
  }),
  createRoute({
    ...at('/playground/{-$tab}'),
    validateSearch: readPlaygroundSearch,
    component: view(() => import('./views/playground.js'), 'PlaygroundView'),
  }),
  createRoute({
    ...at('/jobs'),
    validateSearch: readJobFilter,
    component: view(() => import('./views/jobs.js'), 'JobsView'),
  }),
  createRoute({
    ...at('/jobs/$id'),
    component: view(() => import('./views/job-detail.js'), 'JobView'),
  }),
  createRoute({
    ...at('/agents'),
    component: view(() => import('./views/agents.js'), 'AgentsView'),
  }),
  createRoute({
    ...at('/agents/$id'),
    validateSearch: readAgentSearch,
    component: view(() => import('./views/agent-detail.js'), 'AgentView'),
  }),
  createRoute({
    ...at('/agents/$id/$runId'),
    component: view(() => import('./views/agent-run.js'), 'RunView'),
  }),
  createRoute({
    ...at('/models'),
    validateSearch: readModelFilter,
    component: view(() => import('./views/models.js'), 'ModelsView'),
  }),
  createRoute({
    ...at('/usage'),
    validateSearch: readUsageFilter,
    component: view(() => import('./views/usage.js'), 'UsageView'),
  }),
  createRoute({
    ...at('/requests'),
    validateSearch: readRequestFilter,
    component: view(() => import('./views/requests.js'), 'RequestsView'),
  }),
  createRoute({
    ...at('/responses/$id'),
    component: view(() => import('./views/response.js'), 'ResponseView'),
  }),
  createRoute({
    ...at('/webhooks'),
    component: view(() => import('./views/webhooks.js'), 'WebhooksView'),
  }),
  createRoute({
    ...at('/webhooks/$id'),
    component: view(() => import('./views/webhook-detail.js'), 'WebhookView'),
  }),
  createRoute({
    ...at('/operator/{-$tab}'),
    component: view(() => import('./views/operator.js'), 'OperatorView'),
  }),
  createRoute({
    ...at('/operator/organizations/$id'),
    component: view(() => import('./views/operator-organization.js'), 'OrganizationView'),
  }),
  createRoute({
    ...at('/settings/{-$tab}'),
    component: view(() => import('./views/settings.js'), 'SettingsView'),
  }),
]);

/** The routes of the dashboard. They are behind the `#`, because a proxy may serve the page below any path. */
export const router = createRouter({
  routeTree: tree,
  history: createHashHistory(),
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultPendingComponent: Pending,
  // On a slow connection a click must be seen to work.
  defaultPendingMs: 300,
  defaultErrorComponent: BrokenAddress,
  defaultRemountDeps: ({ params }) => params,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
