import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useConversation, type Turn } from '../data/chat.js';
import { Button, Card, Empty, FaultNotice } from '../ui/basics.js';
import { TextArea, TextField } from '../ui/field.js';
import { asAmount, inDigits } from '../ui/format.js';
import { ModelSelect } from '../ui/model-select.js';

/** A conversation with a model, word by word. */
export function ChatPanel(): ReactNode {
  const { turns, isAnswering, send, stop, clear } = useConversation();
  const [model, setModel] = useState('');
  const [system, setSystem] = useState('');
  const [temperature, setTemperature] = useState('');
  const ask = (text: string): void =>
    send(text, {
      model,
      system: system.trim(),
      temperature: temperature === '' ? null : Number(temperature),
    });
  return (
    <div className="play play-chat">
      <section className="card chat" aria-label="Conversation">
        <Turns turns={turns} isAnswering={isAnswering} />
        <Composer isAnswering={isAnswering} onSend={ask} onStop={stop} />
      </section>
      <Card title="Settings">
        <div className="form">
          <ModelSelect type="chat" value={model} onChange={setModel} />
          <TextArea
            label="System prompt"
            name="system"
            rows={3}
            placeholder="Optional"
            value={system}
            onChange={({ target }) => setSystem(target.value)}
          />
          <TextField
            label="Temperature"
            name="temperature"
            type="number"
            min={0}
            max={2}
            step={0.1}
            placeholder="The model’s own"
            value={temperature}
            onChange={({ target }) => setTemperature(target.value)}
          />
          <Button disabled={turns.length === 0 || isAnswering} onClick={clear}>
            New conversation
          </Button>
        </div>
      </Card>
    </div>
  );
}

function Turns({ turns, isAnswering }: { turns: Turn[]; isAnswering: boolean }): ReactNode {
  const end = useRef<HTMLDivElement>(null);
  const last = turns.at(-1);
  const length = (last?.content.length ?? 0) + turns.length;
  useEffect(() => {
    const list = end.current?.parentElement;
    if (list) list.scrollTop = list.scrollHeight;
  }, [length, last?.usage]);
  return (
    <div className="turns" role="log" aria-busy={isAnswering} tabIndex={0} aria-label="Messages">
      {turns.length === 0 && (
        <Empty title="Ask something">The answer streams in, with what it took and cost.</Empty>
      )}
      {turns.map((turn, at) => (
        <TurnView key={at} turn={turn} isOpen={isAnswering && at === turns.length - 1} />
      ))}
      <div ref={end} />
    </div>
  );
}

function TurnView({ turn, isOpen }: { turn: Turn; isOpen: boolean }): ReactNode {
  const { role, content, model, usage, note, fault } = turn;
  return (
    <article className={`turn turn-${role}`}>
      <h3>{role === 'user' ? 'You' : (model ?? 'Model')}</h3>
      {(content !== '' || isOpen) && (
        <p className="turn-text">
          {content}
          {isOpen && <span className="caret" aria-hidden="true" />}
        </p>
      )}
      <FaultNotice fault={fault} />
      {(usage || note !== undefined) && (
        <p className="hint">
          {[
            note,
            usage && `${inDigits(usage.promptTokens)} + ${inDigits(usage.completionTokens)} tokens`,
            usage && asAmount(usage.creditsUsed, 'credits'),
          ]
            .filter((part) => part)
            .join(' · ')}
        </p>
      )}
    </article>
  );
}

interface ComposerProps {
  isAnswering: boolean;
  onSend(text: string): void;
  onStop(): void;
}

function Composer({ isAnswering, onSend, onStop }: ComposerProps): ReactNode {
  const [text, setText] = useState('');
  const send = (): void => {
    if (text.trim() === '' || isAnswering) return;
    onSend(text.trim());
    setText('');
  };
  const press = (event: KeyboardEvent): void => {
    // Enter also ends the composition of a character, which sends nothing.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextArea
        label="Message"
        name="message"
        rows={2}
        hint="Enter sends, Shift-Enter begins a line."
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={press}
      />
      {isAnswering ? (
        <Button onClick={onStop}>Stop</Button>
      ) : (
        <Button type="submit" kind="primary" disabled={text.trim() === ''}>
          Send
        </Button>
      )}
    </form>
  );
}
