import { createContext, createElement, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { Penstock } from './client.js';
import { toFault } from './fault.js';
import type { PenstockError } from './fault.js';
import type { AgentRun, AgentRunEvent, Job, JobList, JobsFilter, Quota } from './live.js';
import type { UploadedFile, UploadOptions } from './upload.js';

const Context = createContext<Penstock | null>(null);

/**
 * Gives the client to the hooks of the components below it. @param props `client`: make it once, outside of components; `children`: the components
 * that use it
 */
export function PenstockProvider({ client, children }: { client: Penstock; children?: ReactNode }) {
  return createElement(Context.Provider, { value: client }, children);
}

/** The client of the nearest {@link PenstockProvider}. @throws Error if there is none */
export function usePenstock(): Penstock {
  const client = useContext(Context);
  if (client === null) throw new Error('A PenstockProvider with a client must stand above this component');
  return client;
}

/**
 * Follows a job until its end. @param id null if there is no job yet @returns `job`: undefined until it is known; `error`: one that retries cannot
 * solve
 */
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

/**
 * The organisation's jobs, newest first, updated live. @param filter default: all jobs, pages of 20
 * @returns `jobs`: undefined until they are known; `loadMore` adds a page; `error`: one that retries cannot solve
 */
export function useJobs(filter: JobsFilter = NO_FILTER): {
  jobs: readonly Job[] | undefined;
  hasMore: boolean;
  loadMore(): Promise<void>;
  /** Whether the first page, or a further one, is being read. */
  isLoading: boolean;
  error: PenstockError | undefined;
  /** Reads the list from its beginning again, after an error. */
  reload(): void;
} {
  const client = usePenstock();
  const [list, setList] = useState<JobList>();
  const [error, setError] = useState<PenstockError>();
  const [isMore, setMore] = useState(false);
  const [turn, setTurn] = useState(0);
  const named = JSON.stringify(filter);
  useEffect(() => {
    setList(undefined);
    setError(undefined);
    return client.followJobs(JSON.parse(named) as JobsFilter, {
      next: setList,
      end: (fault) => fault !== null && setError(fault),
    });
  }, [client, named, turn]);
  const more = list?.loadMore;
  const loadMore = useCallback(async () => {
    if (more === undefined) return;
    setError(undefined);
    setMore(true);
    await more().catch((thrown: unknown) => setError(toFault(thrown)));
    setMore(false);
  }, [more]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isLoading = isMore || (list === undefined && error === undefined);
  return { jobs: list?.jobs, hasMore: list?.hasMore ?? false, loadMore, isLoading, error, reload };
}

/**
 * Follows a run of an agent with its steps. @param id of the run; null if there is none yet @returns `run`: undefined until it is known; `error`: one
 * that retries cannot solve
 */
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

/** The buckets of the organisation, updated as they change. @returns `quota`: undefined until it is known; `error`: one that retries cannot solve */
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

/**
 * Uploads a file. A new upload replaces one that is still running. Both end when the component is removed.
 * @returns `upload`: resolves with the file, or with null if it failed or was replaced; `progress`: from 0 to 1
 */
export function useUpload(): {
  upload(blob: Blob, options?: Omit<UploadOptions, 'signal' | 'onProgress'>): Promise<UploadedFile | null>;
  progress: number;
  file: UploadedFile | undefined;
  error: PenstockError | undefined;
} {
  const client = usePenstock();
  const [state, setState] = useState<{ progress: number; file?: UploadedFile; error?: PenstockError }>({
    progress: 0,
  });
  const under = useRef<AbortController | null>(null);
  useEffect(() => () => under.current?.abort(), []);
  const upload = useCallback(
    async (blob: Blob, options: Omit<UploadOptions, 'signal' | 'onProgress'> = {}) => {
      under.current?.abort();
      const own = new AbortController();
      under.current = own;
      const { signal } = own;
      const onProgress = (progress: number) => signal.aborted || setState({ progress });
      setState({ progress: 0 });
      try {
        const file = await client.upload(blob, { ...options, signal, onProgress });
        if (signal.aborted) return null;
        setState({ progress: 1, file });
        return file;
      } catch (thrown) {
        if (!signal.aborted) setState(({ progress }) => ({ progress, error: toFault(thrown) }));
        return null;
      }
    },
    [client],
  );
  return { upload, progress: state.progress, file: state.file, error: state.error };
}

/** A message of a conversation. */
export interface ChatMessage {
  /** Who wrote it. */
  role: 'system' | 'user' | 'assistant';
  /** Its text. While an answer is streaming, the part that has arrived so far. */
  content: string;
}

/** `ready` to send a message, `submitted` until the first words of the answer arrive, `streaming` while they arrive, or `error` after a failure. */
export type ChatStatus = 'ready' | 'submitted' | 'streaming' | 'error';

/** The model of a conversation, and its first messages. */
export interface ChatOptions {
  /** Id of a chat model. Default: the server's. */
  model?: string;
  /** Further options of the chat, such as `temperature`: fields of GraphQL's `ChatCompletionInput`. */
  options?: Record<string, unknown>;
  /** Messages that the conversation starts with. Default: none. */
  initialMessages?: readonly ChatMessage[];
}

/**
 * A conversation with streamed answers. Each answer is charged once, even if the connection is lost.
 * @param options they may change between answers; only the first rendering uses `initialMessages`
 * @returns `error`: that of the last answer, or undefined; the messages stay after an error
 */
export function useChat({ model, options, initialMessages = [] }: ChatOptions = {}): {
  messages: readonly ChatMessage[];
  /** Adds a message and asks for the answer to it. It does nothing while an answer is streaming. */
  send(content: string): void;
  /**
   * Stops the answer, also at the server and at its upstream: only what was delivered is charged. The delivered part stays. Removing the component
   * has the same effect.
   */
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
