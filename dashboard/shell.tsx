import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { openApi } from './data/api.js';
import { signOut, type Membership, type Session } from './data/auth.js';
import { toFault, type Fault } from './data/fault.js';
import { PlaceContext, type Place } from './data/hooks.js';
import { TopBar } from './top-bar.js';
import { FaultNotice } from './ui/basics.js';
import { Gate } from './views/gate.js';
import { href, useRoute } from './route.js';
import { VIEWS, viewOf } from './views/views.js';

interface ShellProps {
  session: Session;
  /** The session, its organisations or roles may have changed: they are to be read again. */
  onDoubt(): void;
  onSignedOut(): void;
}

const CHOSEN = 'penstock.organization';

function chosenOf({ organizations }: Session): Membership | undefined {
  const chosen = localStorage.getItem(CHOSEN);
  return organizations.find(({ id }) => id === chosen) ?? organizations[0];
}

/** Everything around a view, for whoever is signed in. */
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
      // Whoever believes to have left while the cookie stays would leave it to the next person.
      isLeaving.current = false;
      setFault(toFault(thrown));
    }
  };
  /** The session's connections close before the answer to signing out is there: nobody needs to be told that it has ended. */
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

/** The hash is the route: a jump inside the page must not change it. */
function toMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

interface WorkplaceProps extends Omit<ShellProps, 'onSignedOut'> {
  organization: Membership;
}

/** One organisation's views, on a connection of its own. */
function Workplace({ organization, session, onDoubt }: WorkplaceProps): ReactNode {
  const route = useRoute();
  const [isOpen, setOpen] = useState(false);
  const doubt = useRef(onDoubt);
  doubt.current = onDoubt;
  const api = useMemo(() => openApi(organization.id, () => doubt.current()), [organization.id]);
  useEffect(() => () => api.close(), [api]);
  const path = route.join('/');
  useEffect(() => {
    setOpen(false);
    window.scrollTo(0, 0);
  }, [path]);
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
  const view = viewOf(route);
  return (
    <PlaceContext.Provider value={place}>
      <div className="columns">
        <nav className="side" aria-label="Dashboard">
          <button
            type="button"
            className="side-toggle"
            aria-expanded={isOpen}
            aria-controls="side-links"
            onClick={() => setOpen(!isOpen)}
          >
            <span aria-hidden="true">☰</span> {view.label}
          </button>
          <ul id="side-links" className={isOpen ? 'is-open' : undefined}>
            {VIEWS.map(({ name, label, icon }) => (
              <li key={name}>
                <a
                  href={name === '' ? href() : href(name)}
                  aria-current={view.name === name ? 'page' : undefined}
                  onClick={() => setOpen(false)}
                >
                  <svg viewBox="0 0 16 16" aria-hidden="true">
                    <path d={icon} />
                  </svg>
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <main id="main" tabIndex={-1}>
          <div key={path}>{view.render(route.slice(1))}</div>
        </main>
      </div>
    </PlaceContext.Provider>
  );
}
