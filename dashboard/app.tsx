import { useEffect, useState, type ReactNode } from 'react';
import { readSession, type Session } from './data/auth.js';
import { toFault, type Fault } from './data/fault.js';
import { useLinkToken } from './route.js';
import { Shell } from './shell.js';
import { FaultNotice, Loading } from './ui/basics.js';
import { LinkView } from './views/link.js';
import { Gate } from './views/gate.js';
import { SignInView } from './views/sign-in.js';

type State =
  | { at: 'start' }
  | { at: 'out'; hasEnded: boolean }
  | { at: 'in'; session: Session }
  | { at: 'fault'; fault: Fault };

/** Signed in or not, and what to show accordingly. */
export function App(): ReactNode {
  const [state, setState] = useState<State>({ at: 'start' });
  const token = useLinkToken();
  const read = (wasIn: boolean): void => {
    readSession().then(
      (session) => setState({ at: 'in', session }),
      (thrown) => {
        const fault = toFault(thrown);
        if (fault.status === 401) setState({ at: 'out', hasEnded: wasIn });
        // Whoever is at work keeps their view: it tells them itself what it cannot read.
        else if (!wasIn) setState({ at: 'fault', fault });
      },
    );
  };
  useEffect(() => read(false), []);
  const enter = (session: Session): void => setState({ at: 'in', session });
  // A link is for whoever holds it, signed in or not.
  if (token !== null) return <LinkView token={token} onEnter={enter} />;
  if (state.at === 'in')
    return (
      <Shell
        session={state.session}
        onDoubt={() => read(true)}
        onSignedOut={() => setState({ at: 'out', hasEnded: false })}
      />
    );
  if (state.at === 'out') return <SignInView hasEnded={state.hasEnded} onEnter={enter} />;
  return (
    <Gate title="Penstock">
      {state.at === 'start' ? <Loading /> : <FaultNotice fault={state.fault} retry={() => read(false)} />}
    </Gate>
  );
}
