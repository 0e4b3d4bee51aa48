import { useEffect, useRef, useState } from 'react';
import { Fault } from '../data/fault.js';
import { usePlace } from '../data/hooks.js';
import { runChat, runResponse } from './chat-protocol.js';
import type { ChatSettings, Turn } from './conversation.types.js';

/** A conversation and the actions on it. */
export interface Conversation {
  /** It changes with every new conversation. */
  id: string;
  turns: readonly Turn[];
  isAnswering: boolean;
  send(added: readonly Turn[], settings: ChatSettings): void;
  stop(): void;
  /** Starts a new conversation, which may continue earlier turns. */
  begin(id?: string, turns?: readonly Turn[]): void;
}

const PROTOCOLS = { chat: runChat, responses: runResponse };

const newConversation = (): string => `${Date.now()}`;

/**
 * A conversation with streamed answers. When the view is closed, the running answer ends. @param onAnswered called with all turns after each answer
 */
export function useConversation(
  protocol: keyof typeof PROTOCOLS,
  onAnswered: (id: string, turns: readonly Turn[]) => void,
): Conversation {
  const { api } = usePlace();
  const [id, setId] = useState(newConversation);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [isAnswering, setAnswering] = useState(false);
  const end = useRef<(() => void) | undefined>(undefined);
  const told = useRef(onAnswered);
  told.current = onAnswered;
  useEffect(() => () => end.current?.(), []);
  const finish = (): void => {
    end.current = undefined;
    setAnswering(false);
  };
  const wasAnswering = useRef(false);
  useEffect(() => {
    if (wasAnswering.current && !isAnswering) told.current(id, turns);
    wasAnswering.current = isAnswering;
  }, [id, isAnswering, turns]);
  const change = (how: (last: Turn) => Turn): void =>
    setTurns((all) => all.map((turn, at) => (at === all.length - 1 ? how(turn) : turn)));
  const fail = (fault: Fault): void => {
    change((last) => ({ ...last, fault }));
    finish();
  };
  return {
    id,
    turns,
    isAnswering,
    send(added, settings) {
      const asked = [...turns, ...added];
      setTurns([...asked, { role: 'assistant', content: '' }]);
      setAnswering(true);
      try {
        end.current = PROTOCOLS[protocol](api, { turns: asked, settings }, { change, fail, done: finish });
      } catch (thrown) {
        if (!(thrown instanceof SyntaxError)) throw thrown;
        fail(new Fault('The tools must be JSON', { status: 400, param: 'tools' }));
      }
    },
    stop() {
      end.current?.();
      change((last) => ({ ...last, note: 'Stopped' }));
      finish();
    },
    begin(known, before = []) {
      setId(known ?? newConversation());
      setTurns(before);
    },
  };
}
