import { PenstockProvider } from '@penstock/client/react';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { Provider as UrqlProvider } from 'urql';
import { openApi } from './data/api.js';
import { signOut, type Membership, type Session } from './data/auth.js';
import { toFault, type Fault } from './data/fault.js';
import { PlaceContext, type Place } from './data/hooks.js';
import { TopBar } from './top-bar.js';
import { FaultNotice } from './ui/basics.js';
import { Gate } from './views/gate.js';
import { router } from './router.js';
import { Toasts } from './ui/toast.js';

interface ShellProps {
  session: Session;
  /** Called when the session, its organisations or its roles may have changed and must be read again. */
  onDoubt(): void;
  onSignedOut(): void;
}

const CHOSEN = 'penstock.organization';

function chosenOf({ organizations }: Session): Membership | undefined {
  const chosen = localStorage.getItem(CHOSEN);
  return organizations.find(({ id }) => id === chosen) ?? organizations[0];
}

/** The frame around all views for a signed-in person. */
export function Shell({ session, onDoubt, onSignedOut }: ShellProps): ReactNode {
  const [organization, setOrganization] = useState(() => chosenOf(session));
  const [fault, setFault] = useState<Fault>();
  const isLeaving = useRef(false);
  const leave = async (): Promise<void> => {
    isLeaving.current = true;
    setFault(undefined);
    try {
      await signOut();
      onSignedOut();
    } catch (thrown) {
      // If signing out fails, the cookie remains valid. The person must know this, because the next user of the browser would be signed in.
      isLeaving.current = false;
      setFault(toFault(thrown));
    }
  };
  /** While signing out, the connections close before the answer arrives. This must not be shown as an ended session. */
  const doubt = (): void => {
    if (!isLeaving.current) onDoubt();
  };
  const choose = (id: string): void => {
    localStorage.setItem(CHOSEN, id);
    setOrganization(chosenOf(session));
  };
  useEffect(() => setOrganization(chosenOf(session)), [session]);
  if (organization === undefined)
    return (
      <Gate title="No organisation">
        <p>
          {session.user.email} belongs to no organisation any more. Ask an owner or admin to add you again.
        </p>
        <button type="button" className="button button-plain" onClick={() => void leave()}>
          Sign out
        </button>
        <FaultNotice fault={fault} />
      </Gate>
    );
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={toMain}>
        Skip to content
      </a>
      <TopBar
        session={session}
        organization={organization}
        onChoose={choose}
        onSignOut={() => void leave()}
      />
      <FaultNotice fault={fault} retry={() => void leave()} />
      <Workplace key={organization.id} organization={organization} session={session} onDoubt={doubt} />
    </div>
  );
}

/** Moves the focus without changing the address, because the hash is the route. */
function toMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

interface WorkplaceProps extends Omit<ShellProps, 'onSignedOut'> {
  organization: Membership;
}

/** The views of one organisation, with a separate connection and cache. */
function Workplace({ organization, session, onDoubt }: WorkplaceProps): ReactNode {
  const doubt = useRef(onDoubt);
  doubt.current = onDoubt;
  const api = useMemo(() => openApi(organization.id, () => doubt.current()), [organization.id]);
  useEffect(() => () => api.close(), [api]);
  const place = useMemo<Place>(
    () => ({
      api,
      organization,
      email: session.user.email,
      userId: session.user.id,
      recheck: () => doubt.current(),
    }),
    [api, organization, session],
  );
  return (
    <PlaceContext.Provider value={place}>
      <UrqlProvider value={api.urql}>
        <PenstockProvider client={api.penstock}>
          <Toasts>
            <RouterProvider router={router} />
          </Toasts>
        </PenstockProvider>
      </UrqlProvider>
    </PlaceContext.Provider>
  );
}
