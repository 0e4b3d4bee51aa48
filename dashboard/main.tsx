import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { readSession } from './data/auth.js';
import { linkTokenIn } from './route.js';
import { router } from './router.js';

// Radix adds a style that stops the page behind a dialog from scrolling. The page's content security policy allows this style by the nonce.
setNonce(document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '');

// The session and the view's files are read at once, before anything is drawn. Who shows them reports what failed.
const session = readSession();
session.catch(() => undefined);
// A one-time link is not the address of a view.
if (linkTokenIn(window.location.hash) === null) router.load().catch(() => undefined);

const place = document.getElementById('dashboard');
if (place !== null) createRoot(place).render(<App session={session} />);
