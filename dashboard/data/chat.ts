import { useEffect, useRef, useState } from 'react';
import type { Fault } from './fault.js';
import { graphql, type ResultOf } from './graphql.js';
import { usePlace } from './hooks.js';

const CHAT = graphql(`
  subscription Chat($input: ChatCompletionInput!) {
    chatCompletion(input: $input) {
      model
      choices {
        delta {
          content
        }
        finishReason
      }
      usage {
        promptTokens
        completionTokens
        totalTokens
        creditsUsed
        tokensRemainingEstimate
      }
    }
  }
`);

type Chunk = ResultOf<typeof CHAT>['chatCompletion'];

/** One turn of a conversation. */
export interface Turn {
  role: 'user' | 'assistant';
  content: string;
  model?: string;
  usage?: Chunk['usage'];
  /** Why it ended, where not by itself. */
  note?: string;
  fault?: Fault;
}

/** How to answer. */
export interface ChatOptions {
  model: string;
  system: string;
  temperature: number | null;
}

/** A conversation, and what can be done with it. */
export interface Conversation {
  turns: Turn[];
  isAnswering: boolean;
  send(text: string, options: ChatOptions): void;
  stop(): void;
  clear(): void;
}

const NOTES: Record<string, string> = {
  length: 'Cut: the answer reached its longest',
  content_filter: 'Cut by the content filter',
};

function grown(turn: Turn, { model, choices: [choice], usage }: Chunk): Turn {
  const note = NOTES[choice?.finishReason ?? ''];
  return {
    ...turn,
    model,
    content: turn.content + (choice?.delta.content ?? ''),
    ...(usage && { usage }),
    ...(note !== undefined && { note }),
  };
}

/** Turns that a further question carries along: an answer that failed before its first word says nothing. */
function messagesOf(turns: Turn[], text: string, system: string): { role: string; content: string }[] {
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    ...turns.filter(({ content }) => content !== '').map(({ role, content }) => ({ role, content })),
    { role: 'user', content: text },
  ];
}

/** A conversation whose answers stream in; leaving the view ends the one under way. */
export function useConversation(): Conversation {
  const { api } = usePlace();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [isAnswering, setAnswering] = useState(false);
  const end = useRef<(() => void) | undefined>(undefined);
  useEffect(() => () => end.current?.(), []);
  const change = (how: (last: Turn) => Turn): void =>
    setTurns((all) => all.map((turn, at) => (at === all.length - 1 ? how(turn) : turn)));
  return {
    turns,
    isAnswering,
    send(text, { model, system, temperature }) {
      const input = {
        messages: messagesOf(turns, text, system),
        ...(model === '' ? {} : { model }),
        ...(temperature === null ? {} : { temperature }),
      };
      setTurns([...turns, { role: 'user', content: text }, { role: 'assistant', content: '' }]);
      setAnswering(true);
      end.current = api.run(
        CHAT,
        { input },
        {
          next: ({ chatCompletion }) => change((last) => grown(last, chatCompletion)),
          fail(fault) {
            change((last) => ({ ...last, fault }));
            setAnswering(false);
          },
          done: () => setAnswering(false),
        },
      );
    },
    stop() {
      end.current?.();
      change((last) => ({ ...last, note: 'Stopped' }));
      setAnswering(false);
    },
    clear: () => setTurns([]),
  };
}
