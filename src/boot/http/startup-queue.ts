import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { writeFault } from '../../http/index.js';
import { sendLive } from './health.js';
import type { Route } from './protocol-events.js';
import { refuse } from './refuse.js';

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** What serves once the process has started. */
export interface Serving {
  route: Route;
  upgrade: Upgrade;
}

/** The same time as calls wait for a database that is away. */
const PATIENCE_MS = 5000;
const STARTING = { status: 503, error: 'Starting', retryAfter: 1 };
/** Probes are answered at once. */
const PROBES = new Set(['/readyz', '/metrics']);

/**
 * Holds the requests that reach a starting process before it can serve. A load balancer that checks only whether the port is open already sends
 * requests; they wait until the start is complete, so that a deployment refuses nobody.
 */
export interface StartupQueue extends Serving {
  /** Passes all waiting requests to the handlers. */
  open(serving: Serving): void;
}

/** @param role shown by /healthz: a process with a long start (a migration) is alive and not ready */
export function createStartupQueue(role: string): StartupQueue {
  const waiting = new Set<(serving: Serving | null) => void>();
  const enter = (connection: NodeJS.EventEmitter, leave: (serving: Serving | null) => void): void => {
    const done = (serving: Serving | null): void => {
      clearTimeout(timer);
      if (waiting.delete(done)) leave(serving);
    };
    const timer = setTimeout(() => done(null), PATIENCE_MS);
    waiting.add(done);
    connection.once('close', () => {
      clearTimeout(timer);
      waiting.delete(done);
    });
  };
  return {
    route(request, response) {
      const path = (request.url ?? '').split('?')[0] ?? '';
      if (path === '/healthz') return sendLive(response, role);
      if (PROBES.has(path)) return refuse(response, STARTING);
      enter(response, (serving) => {
        if (serving === null) refuse(response, STARTING);
        else serving.route(request, response);
      });
    },
    upgrade(request, socket, head) {
      const forget = (): void => void socket.destroy();
      socket.once('error', forget);
      enter(socket, (serving) => {
        socket.off('error', forget);
        if (serving === null) writeFault(socket, STARTING);
        else serving.upgrade(request, socket, head);
      });
    },
    open(serving) {
      for (const leave of [...waiting]) leave(serving);
    },
  };
}
