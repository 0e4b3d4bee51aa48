import type { ReactNode } from 'react';
import type { Role } from '../data/auth.js';
import { graphql } from '../data/graphql.js';
import { useAction, usePlace, useRights } from '../data/hooks.js';
import { ROLES, type HandedLink, type Member } from '../data/members.js';
import { Button, FaultNotice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';

const CHANGE_ROLE = graphql(`
  mutation ChangeMemberRole($userId: ID!, $role: PenstockRole!) {
    changePenstockMemberRole(userId: $userId, role: $role) {
      userId
      role
    }
  }
`);

const REMOVE_MEMBER = graphql(`
  mutation RemoveMember($userId: ID!) {
    removePenstockMember(userId: $userId) {
      success
    }
  }
`);

const CREATE_LINK = graphql(`
  mutation CreateSignInLink($userId: ID!) {
    createPenstockSignInLink(userId: $userId) {
      url
      expiresAt
    }
  }
`);

interface MemberProps {
  member: Member;
  reload(): void;
}

/** Changes a member's role immediately. If the server refuses, the fault is shown below and the old role stays. */
export function RoleSelect({ member, reload }: MemberProps): ReactNode {
  const { api, userId, recheck } = usePlace();
  const { role } = useRights();
  const action = useAction(async (to: Role) => {
    await api.request(CHANGE_ROLE, { userId: member.userId, role: to });
    reload();
    if (member.userId === userId) recheck();
  });
  const offered = (Object.keys(ROLES) as Role[]).filter((one) => one !== 'owner' || role === 'owner');
  return (
    <>
      <select
        aria-label={`Role of ${member.email}`}
        value={member.role}
        disabled={action.isBusy}
        onChange={({ target }) => void action.run(target.value as Role)}
      >
        {offered.map((one) => (
          <option key={one} value={one} title={ROLES[one]}>
            {one}
          </option>
        ))}
      </select>
      <FaultNotice fault={action.fault} />
    </>
  );
}

interface ActionsProps extends MemberProps {
  onLink(link: HandedLink): void;
}

/** Makes a link for a forgotten password, or removes the member. */
export function MemberActions({ member: { userId, email }, reload, onLink }: ActionsProps): ReactNode {
  const { api, userId: ownId, recheck } = usePlace();
  const link = useAction(async () => {
    const { createPenstockSignInLink } = await api.request(CREATE_LINK, { userId });
    onLink({ email, url: createPenstockSignInLink.url });
  });
  return (
    <>
      <span className="row-actions">
        <Button
          kind="quiet"
          isBusy={link.isBusy}
          aria-label={`New link for ${email}`}
          onClick={() => void link.run()}
        >
          New link
        </Button>
        <ConfirmButton
          label="Remove"
          name={`Remove ${email}`}
          question={`Remove ${email}?`}
          work={() => api.request(REMOVE_MEMBER, { userId }).then(userId === ownId ? recheck : reload)}
        >
          They lose access to this organisation at once. Keys and jobs that they made remain.
        </ConfirmButton>
      </span>
      <FaultNotice fault={link.fault} />
    </>
  );
}
