import type { ReactNode } from 'react';
import type { Route } from '../route.js';
import { OverviewView } from './overview.js';
import { SettingsView } from './settings.js';

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
