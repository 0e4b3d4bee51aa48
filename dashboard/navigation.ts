import type { LinkProps } from '@tanstack/react-router';

/** An entry of the navigation. */
export interface Entry {
  to: Extract<LinkProps['to'], string>;
  label: string;
  /** The path of an icon: a line drawing of 16 × 16. */
  icon: string;
  /** Shown only to operators of the installation. */
  isOperators?: true;
}

/** The pages of this server for developers, besides the dashboard. */
export const DEVELOPERS: readonly { href: string; label: string }[] = [
  { href: 'graphql', label: 'GraphQL explorer' },
  { href: 'graphql/client.graphql', label: 'GraphQL schema' },
  { href: 'graphql/schema.graphql', label: 'Federation subgraph' },
  { href: 'docs', label: 'REST API' },
  { href: 'api/v1/openapi.json', label: 'OpenAPI of /api/v1' },
  { href: 'v1/openapi.json', label: 'OpenAPI of /v1' },
  { href: 'asyncapi.json', label: 'AsyncAPI of events' },
];

/** The entries, in the order of the navigation. */
export const NAVIGATION: readonly Entry[] = [
  { to: '/', label: 'Overview', icon: 'M2 9h5V2H2zM9 6h5V2H9zM9 14h5V8H9zM2 14h5v-3H2z' },
  { to: '/playground', label: 'Playground', icon: 'M2 3h12v8H7l-3 3v-3H2z' },
  { to: '/jobs', label: 'Jobs', icon: 'M2 4h1m3 0h8M2 8h1m3 0h8M2 12h1m3 0h8' },
  { to: '/agents', label: 'Agents', icon: 'M3 6h10v7H3zM8 6V3M6 9v1m4-1v1M1 9v2m14-2v2' },
  { to: '/models', label: 'Models', icon: 'M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6' },
  { to: '/usage', label: 'Usage', icon: 'M2 14h12M4 11V8m4 3V3m4 8V6' },
  { to: '/requests', label: 'Requests', icon: 'M2 3h12v10H2zM2 6.5h12M5 9.5h3' },
  { to: '/webhooks', label: 'Webhooks', icon: 'M2 8h7M6 4l4 4-4 4M13 2v12' },
  {
    to: '/settings',
    label: 'Settings',
    icon: 'M2 4.5h5m4 0h3M2 11.5h3m4 0h5M9 2.8a1.7 1.7 0 1 0 .01 0M7 9.8a1.7 1.7 0 1 0 .01 0',
  },
  {
    to: '/operator',
    label: 'Operator',
    icon: 'M8 1.5 13.5 4v4c0 3.2-2.3 5.5-5.5 6.5C4.8 13.5 2.5 11.2 2.5 8V4zM5.5 8l2 2 3-3.5',
    isOperators: true,
  },
];
