import { createContext, lazy, Suspense, useCallback, useContext, useState, type ReactNode } from 'react';
import { part } from '../data/part.js';
import type { Shown } from './toast-stack.js';

type Tell = (text: string, kind?: Shown['kind']) => void;

const Context = createContext<Tell>(() => undefined);
/** A message is not worth the page: if a newer version of the server has replaced the file, no message is shown. */
const Stack = lazy(() =>
  part(() => import('./toast-stack.js'))().then(
    ({ ToastStack }) => ({ default: ToastStack }),
    () => ({ default: () => null }),
  ),
);

/** Returns a function that shows a short confirmation: `tell('Key revoked')`. Faults are shown next to the control that caused them instead. */
export const useToast = (): Tell => useContext(Context);

/** Holds the messages of the views in it. The component that shows them is loaded with the first message. */
export function Toasts({ children }: { children: ReactNode }): ReactNode {
  const [shown, setShown] = useState<readonly Shown[]>([]);
  const tell = useCallback<Tell>(
    (text, kind = 'good') => setShown((all) => [...all, { id: (all.at(-1)?.id ?? 0) + 1, text, kind }]),
    [],
  );
  const forget = useCallback((id: number) => setShown((all) => all.filter((one) => one.id !== id)), []);
  return (
    <Context.Provider value={tell}>
      {children}
      {shown.length > 0 && (
        <Suspense>
          <Stack shown={shown} onGone={forget} />
        </Suspense>
      )}
    </Context.Provider>
  );
}
