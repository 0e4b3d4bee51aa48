import { createContext, createElement, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { Penstock } from './client.js';
import { toFault } from './fault.js';
import type { PenstockError } from './fault.js';
import type { AgentRun, AgentRunEvent, Job, JobList, JobsFilter, Quota } from './live.js';

const Context = createContext<Penstock | null>(null);

/** Gives the hooks below it their client. */
export function PenstockProvider({ client, children }: { client: Penstock; children?: ReactNode }) {
  return createElement(Context.Provider, { value: client }, children);
}

/** The client of the nearest {@link PenstockProvider}. @throws Error without one */
export function usePenstock(): Penstock {
  const client = useContext(Context);
  if (client === null) throw new Error('A PenstockProvider with a client must stand above this component');
  return client;
}

/** A job until its end. @returns `job`: undefined until it is known; `error`: for good */
export function useJob(id: string | null | undefined): {
  job: Job | undefined;
  error: PenstockError | undefined;
} {
  const client = usePenstock();
  const [state, setState] = useState<{ id?: string; job?: Job; error?: PenstockError }>({});
  useEffect(() => {
    if (id == null) return undefined;
    return client.followJob(id, {
      next: (job) => setState({ id, job }),
      end: (error) =>
        error !== null && setState((before) => ({ ...(before.id === id ? before : {}), id, error })),
    });
  }, [client, id]);
  const isOfThis = state.id === id;
  return { job: isOfThis ? state.job : undefined, error: isOfThis ? state.error : undefined };
}

const NO_FILTER: JobsFilter = {};
const NOTHING = (): Promise<void> => Promise.resolve();

/** The organisation's jobs, newest first, live. @returns `loadMore` adds a page */
export function useJobs(filter: JobsFilter = NO_FILTER): {
  jobs: readonly Job[] | undefined;
  hasMore: boolean;
  loadMore(): Promise<void>;
  error: PenstockError | undefined;
} {
  const client = usePenstock();
  const [list, setList] = useState<JobList>();
  const [error, setError] = useState<PenstockError>();
  const named = JSON.stringify(filter);
  useEffect(() => {
    setList(undefined);
    setError(undefined);
    return client.followJobs(JSON.parse(named) as JobsFilter, {
      next: setList,
      end: (fault) => fault !== null && setError(fault),
    });
  }, [client, named]);
  const more = list?.loadMore;
  const loadMore = useCallback(
    () => (more === undefined ? NOTHING() : more().catch((thrown: unknown) => setError(toFault(thrown)))),
    [more],
  );
  return { jobs: list?.jobs, hasMore: list?.hasMore ?? false, loadMore, error };
}

/** A run of an agent with its steps, as they come. */
export function useAgentRun(id: string | null | undefined): {
  run: AgentRunEvent['run'] | undefined;
  steps: readonly NonNullable<AgentRunEvent['step']>[];
  error: PenstockError | undefined;
} {
  const client = usePenstock();
  const [events, setEvents] = useState<readonly AgentRunEvent[]>([]);
  const [error, setError] = useState<PenstockError>();
  useEffect(() => {
    setEvents([]);
    setError(undefined);
    if (id == null) return undefined;
    return client.followRun(id, {
      next: (event) => setEvents((before) => [...before, event]),
      end: (fault) => fault !== null && setError(fault),
    });
  }, [client, id]);
  const steps = events.flatMap(({ step }) => (step === null ? [] : [step]));
  return { run: events.at(-1)?.run, steps, error };
}

/** The buckets of the organisation as they move. */
export function useQuota(): { quota: Quota | undefined; error: PenstockError | undefined } {
  const client = usePenstock();
  const [quota, setQuota] = useState<Quota>();
  const [error, setError] = useState<PenstockError>();
  useEffect(
    () => client.followQuota({ next: setQuota, end: (fault) => fault !== null && setError(fault) }),
    [client],
  );
  return { quota, error };
}

/** A message of a conversation. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** `ready` for a message, waiting for the first words, streaming them, or failed. */
export type ChatStatus = 'ready' | 'submitted' | 'streaming' | 'error';

export interface ChatOptions {
  model?: string;
  /** Further options of the chat, such as `temperature`. */
  options?: Record<string, unknown>;
  initialMessages?: readonly ChatMessage[];
}

/** A conversation whose answers are streamed. */
export function useChat({ model, options, initialMessages = [] }: ChatOptions = {}): {
  messages: readonly ChatMessage[];
  /** Adds a message and asks for its answer. Ignored while an answer is under way. */
  send(content: string): void;
  /** Stops reading the answer; what came stays. */
  stop(): void;
  status: ChatStatus;
  error: PenstockError | undefined;
} {
  const client = usePenstock();
  const [messages, setMessages] = useState<readonly ChatMessage[]>(initialMessages);
  const [status, setStatus] = useState<ChatStatus>('ready');
  const [error, setError] = useState<PenstockError>();
  const known = useRef<readonly ChatMessage[]>(initialMessages);
  const under = useRef<(() => void) | null>(null);
  const show = (next: readonly ChatMessage[]): void => {
    known.current = next;
    setMessages(next);
  };
  useEffect(() => () => under.current?.(), []);

  const stop = (): void => {
    under.current?.();
    under.current = null;
    setStatus((now) => (now === 'error' ? now : 'ready'));
  };
  const send = (content: string): void => {
    if (under.current !== null) return;
    const asked = [...known.current, { role: 'user' as const, content }];
    let text = '';
    show(asked);
    setError(undefined);
    setStatus('submitted');
    const input = { ...options, messages: asked, ...(model === undefined ? {} : { model }) };
    under.current = client.streamChat(input, {
      next({ choices }) {
        const words = choices[0]?.delta.content ?? '';
        if (words === '') return;
        text += words;
        show([...asked, { role: 'assistant', content: text }]);
        setStatus('streaming');
      },
      end(fault) {
        under.current = null;
        setError(fault ?? undefined);
        setStatus(fault === null ? 'ready' : 'error');
      },
    });
  };
  return { messages, send, stop, status, error };
}

export type { AgentRun };
