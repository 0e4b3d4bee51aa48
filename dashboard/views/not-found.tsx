import { Link, useLocation, type ErrorComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toFault } from '../data/fault.js';
import { BadAddress } from '../data/search.js';
import { Button, Empty, FaultNotice } from '../ui/basics.js';
import { PageFrame } from '../ui/page.js';

/** Shown for an address that does not exist. */
export function NoSuchView(): ReactNode {
  const { href } = useLocation();
  return (
    <PageFrame title="No such page">
      <Empty title="Nothing is at this address">
        The dashboard has no page at <span className="code">#{href}</span>. Go to the{' '}
        <Link to="/">overview</Link>.
      </Empty>
    </PageFrame>
  );
}

/** Shown if an address is malformed, or if a view failed. */
export function BrokenAddress({ error, reset }: ErrorComponentProps): ReactNode {
  const { pathname } = useLocation();
  // If the check of an address fails, the router throws an error of its own, with the original error as its cause.
  const cause = error instanceof Error && !(error instanceof BadAddress) ? error.cause : error;
  if (cause instanceof BadAddress)
    return (
      <PageFrame title="Malformed address">
        <Empty title={cause.message}>
          Show the page <a href={`#${pathname}`}>without its filters</a>, or go to the{' '}
          <Link to="/">overview</Link>.
        </Empty>
      </PageFrame>
    );
  return (
    <PageFrame title="This page failed" actions={<Button onClick={reset}>Show it again</Button>}>
      <FaultNotice fault={toFault(error)} />
    </PageFrame>
  );
}
