import type { ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
import { usePlace, useQuery, useRights } from '../data/hooks.js';
import { QUOTA } from '../data/quota.js';
import { Badge, Card, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { asDate } from '../ui/format.js';

const CANCEL = graphql(`
  mutation CancelSubscription {
    cancelPenstockPlan {
      id
      entitled
    }
  }
`);

/** The plan that holds; the operator changes it, an owner or admin may end it. */
export function PlanPanel(): ReactNode {
  const { api } = usePlace();
  const { canManage } = useRights();
  const { data, fault, isLoading, reload } = useQuery(QUOTA, {});
  if (data === undefined) return isLoading ? <Loading /> : <FaultNotice fault={fault} retry={reload} />;
  const { plan } = data.quota;
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
            work={() => api.request(CANCEL, {}).then(reload)}
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
      <p className="hint">Other plans and top-ups are set by whoever operates this installation.</p>
    </Card>
  );
}
