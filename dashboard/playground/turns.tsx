import { useEffect, useRef, type ReactNode } from 'react';
import { Button, Empty, FaultNotice } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import type { ToolCall, Turn } from './conversation.types.js';
import { MarkdownText } from '../ui/markdown.js';

interface TurnsProps {
  turns: readonly Turn[];
  isAnswering: boolean;
  /** Called with the results of the functions that the last answer called. */
  onAnswers(answers: Turn[]): void;
}

/** The turns of a conversation. */
export function Turns({ turns, isAnswering, onAnswers }: TurnsProps): ReactNode {
  const end = useRef<HTMLDivElement>(null);
  const last = turns.at(-1);
  const length = (last?.content.length ?? 0) + (last?.reasoning?.length ?? 0) + turns.length;
  useEffect(() => {
    const list = end.current?.parentElement;
    if (list) list.scrollTop = list.scrollHeight;
  }, [length, last?.cost]);
  return (
    <div className="turns" role="log" aria-busy={isAnswering} tabIndex={0} aria-label="Messages">
      {turns.length === 0 && (
        <Empty title="Ask something">The answer streams in, with what it took and cost.</Empty>
      )}
      {turns.map((turn, at) => (
        <TurnView key={at} turn={turn} isOpen={isAnswering && at === turns.length - 1} />
      ))}
      {!isAnswering && last?.toolCalls && <ToolAnswers calls={last.toolCalls} onAnswers={onAnswers} />}
      <div ref={end} />
    </div>
  );
}

const WHO = { user: 'You', tool: 'A function’s answer', assistant: 'Model' };

function TurnView({ turn, isOpen }: { turn: Turn; isOpen: boolean }): ReactNode {
  const { role, content, images = [], reasoning, toolCalls, model, cost, note, fault } = turn;
  const said = [note, cost].filter((part) => part !== undefined);
  return (
    <article className={`turn turn-${role}`}>
      <h2>{(role === 'assistant' && model) || WHO[role]}</h2>
      {reasoning !== undefined && (
        <details className="reasoning" open={isOpen && content === ''}>
          <summary>Reasoning</summary>
          <p className="turn-text muted">{reasoning}</p>
        </details>
      )}
      {images.length > 0 && (
        <ul className="attached">
          {images.map((url, at) => (
            <li key={url.slice(-40)}>
              <img src={url} alt={`Picture ${at + 1}`} />
            </li>
          ))}
        </ul>
      )}
      {role === 'assistant' && content !== '' && <MarkdownText text={content} />}
      {role !== 'assistant' && content !== '' && <p className="turn-text">{content}</p>}
      {isOpen && <span className="caret" aria-hidden="true" />}
      {toolCalls?.map((call) => (
        <p key={call.id} className="code tool-call">
          {call.name}({call.arguments})
        </p>
      ))}
      <FaultNotice fault={fault} />
      {said.length > 0 && <p className="hint">{said.join(' · ')}</p>}
    </article>
  );
}

/** Fields for the results of the called functions. The model waits for them, and here a person enters them. */
function ToolAnswers({
  calls,
  onAnswers,
}: { calls: readonly ToolCall[] } & Pick<TurnsProps, 'onAnswers'>): ReactNode {
  return (
    <form
      className="form tool-answers"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        onAnswers(
          calls.map(({ id }) => ({ role: 'tool', content: entered(form, id) || '{}', toolCallId: id })),
        );
      }}
    >
      {calls.map(({ id, name }) => (
        <TextField key={id} label={`What ${name} gives`} name={id} placeholder='{"level": "2.4 m"}' />
      ))}
      <Button type="submit">Answer</Button>
    </form>
  );
}
