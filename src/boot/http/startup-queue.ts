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

/** As long as calls wait for a database that is away. */
const PATIENCE_MS = 5000;
const STARTING = { status: 503, error: 'Starting', retryAfter: 1 };
/** Who asks these wants to know how it stands now. */
const PROBES = new Set(['/readyz', '/metrics']);

/**
 * A starting process listens before it can serve, and a balancer that looks at connections only sends it callers: they wait for the moment
 * it takes, so that a deploy turns nobody away.
 */
export interface StartupQueue extends Serving {
  /** Lets everybody in. */
  open(serving: Serving): void;
}

/** @param role what /healthz tells: a process that takes its time to start (a migration) lives, and is not ready */
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
