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
import { readPlaygroundSearch } from './data/playground-search.js';
import { readUsageFilter } from './data/usage-filter.js';
import { readRequestFilter } from './data/request-filter.js';
import { readSearch, writeSearch } from './data/search.js';
import { Frame } from './frame.js';
import { Loading } from './ui/basics.js';
import { BrokenAddress, NoSuchView } from './views/not-found.js';

const root = createRootRoute({ component: Frame, notFoundComponent: NoSuchView });

/** The parent and the path of a route. A view is loaded when it is first shown, or when a link to it is about to be followed. */
const at = <const Path extends string>(path: Path) => ({ getParentRoute: () => root, path });

const tree = root.addChildren([
  createRoute({
    ...at('/'),
    component: lazyRouteComponent(() => import('./views/overview.js'), 'OverviewView'),
  }),
  createRoute({
    ...at('/playground/{-$tab}'),
    validateSearch: readPlaygroundSearch,
    component: lazyRouteComponent(() => import('./views/playground.js'), 'PlaygroundView'),
  }),
  createRoute({
    ...at('/jobs'),
    validateSearch: readJobFilter,
    component: lazyRouteComponent(() => import('./views/jobs.js'), 'JobsView'),
  }),
  createRoute({
    ...at('/jobs/$id'),
    component: lazyRouteComponent(() => import('./views/job-detail.js'), 'JobView'),
  }),
  createRoute({
    ...at('/agents'),
    component: lazyRouteComponent(() => import('./views/agents.js'), 'AgentsView'),
  }),
  createRoute({
    ...at('/agents/$id'),
    validateSearch: readAgentSearch,
    component: lazyRouteComponent(() => import('./views/agent-detail.js'), 'AgentView'),
  }),
  createRoute({
    ...at('/agents/$id/$runId'),
    component: lazyRouteComponent(() => import('./views/agent-run.js'), 'RunView'),
  }),
  createRoute({
    ...at('/models'),
    validateSearch: readModelFilter,
    component: lazyRouteComponent(() => import('./views/models.js'), 'ModelsView'),
  }),
  createRoute({
    ...at('/usage'),
    validateSearch: readUsageFilter,
    component: lazyRouteComponent(() => import('./views/usage.js'), 'UsageView'),
  }),
  createRoute({
    ...at('/requests'),
    validateSearch: readRequestFilter,
    component: lazyRouteComponent(() => import('./views/requests.js'), 'RequestsView'),
  }),
  createRoute({
    ...at('/responses/$id'),
    component: lazyRouteComponent(() => import('./views/response.js'), 'ResponseView'),
  }),
  createRoute({
    ...at('/webhooks'),
    component: lazyRouteComponent(() => import('./views/webhooks.js'), 'WebhooksView'),
  }),
  createRoute({
    ...at('/webhooks/$id'),
    component: lazyRouteComponent(() => import('./views/webhook-detail.js'), 'WebhookView'),
  }),
  createRoute({
    ...at('/operator/{-$tab}'),
    component: lazyRouteComponent(() => import('./views/operator.js'), 'OperatorView'),
  }),
  createRoute({
    ...at('/operator/organizations/$id'),
    component: lazyRouteComponent(() => import('./views/operator-organization.js'), 'OrganizationView'),
  }),
  createRoute({
    ...at('/settings/{-$tab}'),
    component: lazyRouteComponent(() => import('./views/settings.js'), 'SettingsView'),
  }),
]);

/** The routes of the dashboard. They are behind the `#`, because a proxy may serve the page below any path. */
export const router = createRouter({
  routeTree: tree,
  history: createHashHistory(),
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading rows={5} />,
  defaultErrorComponent: BrokenAddress,
  defaultRemountDeps: ({ params }) => params,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
