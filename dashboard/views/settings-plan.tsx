import { useQuota } from '@penstock/client/react';
import type { ReactNode } from 'react';
import { toFault } from '../data/fault.js';
import { graphql } from '../data/graphql.js';
import { usePlace, useRights } from '../data/hooks.js';
import { Badge, Card, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { asDate } from '../ui/format.js';
import { QuotaTiles } from '../ui/quota-tiles.js';

const CANCEL = graphql(`
  mutation CancelSubscription {
    cancelPenstockPlan {
      id
      entitled
    }
  }
`);

/** The current plan. Only the operator changes it; an owner or admin can cancel it. */
export function PlanPanel(): ReactNode {
  const { api } = usePlace();
  const { canManage } = useRights();
  const { quota, error } = useQuota();
  if (quota === undefined) return error ? <FaultNotice fault={toFault(error)} /> : <Loading />;
  const { plan } = quota;
  const canCancel = canManage && plan.entitled && plan.kind !== 'free';
  return (
    <Card
      title={plan.name}
      actions={
        canCancel && (
          <ConfirmButton
            label="Cancel subscription"
            question={`Cancel ${plan.name}?`}
            kind="plain"
            work={() => api.request(CANCEL, {})}
          >
            It holds until {asDate(plan.periodEnd)}; after that the limits of the Free plan apply. Only
            whoever operates this installation can subscribe you again.
          </ConfirmButton>
        )
      }
    >
      <dl className="facts">
        <dt>State</dt>
        <dd>
          {plan.entitled ? (
            <Badge tone="good">active</Badge>
          ) : (
            <Badge tone="bad">ended – the Free limits hold</Badge>
          )}
        </dd>
        <dt>Code</dt>
        <dd className="code">{plan.code}</dd>
        <dt>Period ends</dt>
        <dd>{asDate(plan.periodEnd)}</dd>
      </dl>
      <QuotaTiles quotas={quota.quotas} />
      <p className="hint">Other plans and top-ups are set by whoever operates this installation.</p>
    </Card>
  );
}
