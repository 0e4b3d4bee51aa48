import { useState, type ReactNode } from 'react';
import type { Role } from '../data/auth.js';
import { graphql } from '../data/graphql.js';
import { usePlace, useRights } from '../data/hooks.js';
import { MEMBERS, ROLES, type HandedLink, type Member } from '../data/members.js';
import { useWholeList } from '../data/pages.js';
import { Badge, Button, Card, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time } from '../ui/format.js';
import { SecretDialog } from '../ui/secret.js';
import { DataTable, type Column } from '../ui/table.js';
import { MemberActions, RoleSelect } from './member-actions.js';

const ADD_MEMBER = graphql(`
  mutation AddMember($input: AddPenstockMemberInput!) {
    addPenstockMember(input: $input) {
      member {
        email
      }
      link {
        url
        expiresAt
      }
    }
  }
`);

/** The members of the organisation and their roles. */
export function MembersPanel(): ReactNode {
  const { canManage } = useRights();
  const { items, fault, isLoading, reload } = useWholeList({
    operation: MEMBERS,
    variables: {},
    page: ({ penstockMembers }) => penstockMembers,
  });
  const [isAdding, setAdding] = useState(false);
  const [link, setLink] = useState<HandedLink>();
  const [known, setKnown] = useState<string>();
  const columns = useColumns(reload, setLink);
  return (
    <Card
      note="They sign in to this dashboard with e-mail and password."
      actions={
        canManage && (
          <Button kind="primary" onClick={() => setAdding(true)}>
            Add member
          </Button>
        )
      }
    >
      {items === undefined && isLoading && <Loading />}
      <FaultNotice fault={fault} retry={reload} />
      {items && <DataTable caption="Members" columns={columns} items={items} rowKey={(one) => one.userId} />}
      {known !== undefined && (
        <Notice kind="good">{known} was added and signs in as before: no link is needed.</Notice>
      )}
      {isAdding && (
        <AddMemberDialog
          onClose={() => setAdding(false)}
          onAdded={(email, url) => {
            setAdding(false);
            if (url === null) setKnown(email);
            else setLink({ email, url });
            reload();
          }}
        />
      )}
      {link && <LinkDialog link={link} onClose={() => setLink(undefined)} />}
    </Card>
  );
}

function useColumns(reload: () => void, onLink: (link: HandedLink) => void): Column<Member>[] {
  const { userId } = usePlace();
  const { canManage, role } = useRights();
  // Only owners can change owners.
  const mayChange = (member: Member): boolean => canManage && (role === 'owner' || member.role !== 'owner');
  const columns: Column<Member>[] = [
    {
      label: 'E-mail',
      cell: (member) => (
        <>
          <strong>{member.email}</strong>
          {member.userId === userId && <span className="muted"> (you)</span>}
        </>
      ),
    },
    {
      label: 'Role',
      cell: (member) => (mayChange(member) ? <RoleSelect member={member} reload={reload} /> : member.role),
    },
    {
      label: 'State',
      cell: ({ active }) => (active ? <Badge tone="good">active</Badge> : <Badge tone="calm">invited</Badge>),
    },
    { label: 'Added', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  ];
  if (canManage)
    columns.push({
      label: 'Actions',
      cell: (member) =>
        mayChange(member) && <MemberActions member={member} reload={reload} onLink={onLink} />,
    });
  return columns;
}

function LinkDialog({ link, onClose }: { link: HandedLink; onClose(): void }): ReactNode {
  return (
    <SecretDialog title={`Link for ${link.email}`} label="One-time link" value={link.url} onClose={onClose}>
      Hand it over on a way that only they can read: whoever opens it chooses their password. It works once,
      for seven days.
    </SecretDialog>
  );
}

interface AddMemberProps {
  onClose(): void;
  /** Called with the link for the new member. It is null if the person already has a password. */
  onAdded(email: string, link: string | null): void;
}

function AddMemberDialog({ onClose, onAdded }: AddMemberProps): ReactNode {
  const { api } = usePlace();
  const { role } = useRights();
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const input = { email: entered(form, 'email'), role: entered(form, 'role') as Role };
    const { addPenstockMember } = await api.request(ADD_MEMBER, { input });
    onAdded(addPenstockMember.member.email, addPenstockMember.link?.url ?? null);
  });
  const offered = (Object.keys(ROLES) as Role[]).filter((one) => one !== 'owner' || role === 'owner');
  return (
    <Dialog title="Add member" onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <TextField label="E-mail" name="email" type="email" fault={fault} required />
        <SelectField label="Role" name="role" defaultValue="member" fault={fault}>
          {offered.map((one) => (
            <option key={one} value={one}>
              {one} – {ROLES[one]}
            </option>
          ))}
        </SelectField>
        <FormFault fault={fault} fields={['email', 'role']} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
