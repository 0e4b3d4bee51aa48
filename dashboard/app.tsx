import { useEffect, useState, type ReactNode } from 'react';
import { readSession, type Session } from './data/auth.js';
import { toFault, type Fault } from './data/fault.js';
import { onOtherTab, tellOtherTabs } from './data/tabs.js';
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

/** Shows the dashboard to people who are signed in, and the sign-in page to all others. @param props `session`: as the page's start reads it */
export function App({ session }: { session: Promise<Session> }): ReactNode {
  const [state, setState] = useState<State>({ at: 'start' });
  const token = useLinkToken();
  const read = (wasIn: boolean, reading = readSession()): void => {
    reading.then(
      (found) => setState({ at: 'in', session: found }),
      (thrown) => {
        const fault = toFault(thrown);
        if (fault.status === 401) setState({ at: 'out', hasEnded: wasIn });
        // A person who is working keeps the current view. The view itself reports what it cannot read.
        else if (!wasIn) setState({ at: 'fault', fault });
      },
    );
  };
  useEffect(() => read(false, session), [session]);
  const isIn = state.at === 'in';
  useEffect(() => onOtherTab(() => read(isIn)), [isIn]);
  const enter = (entered: Session): void => {
    setState({ at: 'in', session: entered });
    tellOtherTabs();
  };
  const leave = (): void => {
    setState({ at: 'out', hasEnded: false });
    tellOtherTabs();
  };
  // A one-time link is shown whether or not somebody is signed in.
  if (token !== null) return <LinkView token={token} onEnter={enter} />;
  if (state.at === 'in')
    return (
      <Shell
        key={state.session.user.id}
        session={state.session}
        onDoubt={() => read(true)}
        onSignedOut={leave}
      />
    );
  if (state.at === 'out') return <SignInView hasEnded={state.hasEnded} onEnter={enter} />;
  return (
    <Gate title="Penstock">
      {state.at === 'start' ? <Loading /> : <FaultNotice fault={state.fault} retry={() => read(false)} />}
    </Gate>
  );
}
