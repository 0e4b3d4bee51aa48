import { useState } from 'react';
import type { FormEvent } from 'react';
import { useChat } from '@penstock/client/react';

/** Shows a conversation and a field for the next message. */
export function Chat() {
  const { messages, send, stop, status, error } = useChat({ model: 'sandbox/chat-basic' });
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(text);
    setText('');
  };
  return (
    <form onSubmit={submit}>
      {messages.map(({ role, content }, at) => (
        <p key={at}>{`${role}: ${content}`}</p>
      ))}
      <input value={text} onChange={(event) => setText(event.target.value)} />
      {status === 'ready' || status === 'error' ? (
        <button>Send</button>
      ) : (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
      {error && <p>{error.message}</p>}
    </form>
  );
}
