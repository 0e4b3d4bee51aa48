import { useState, type ReactNode } from 'react';
import { Button, Card } from '../ui/basics.js';
import { chatInput, responseInput } from './chat-protocol.js';
import { CodeView } from './code-view.js';
import { Composer } from './composer.js';
import { useConversation } from './conversation.js';
import type { ChatSettings, Turn } from './conversation.types.js';
import { EstimateLine } from './estimate.js';
import { useHistory, type Work } from './history.js';
import { Past } from './history-list.js';
import { SettingsForm } from './settings-form.js';
import { Turns } from './turns.js';

const NOTHING: ChatSettings = {
  model: '',
  system: '',
  temperature: '',
  maxTokens: '',
  effort: '',
  webSearch: false,
  tools: '',
};

const CODE = {
  chat: {
    path: 'api/v1/chat/completions',
    openai: 'chat.completions.create',
    graphql: {
      kind: 'subscription',
      field: 'chatCompletion',
      inputType: 'ChatCompletionInput',
      selection: '{ choices { delta { content } } usage { creditsUsed } }',
    },
  },
  responses: {
    path: 'v1/responses',
    openai: 'responses.create',
    graphql: {
      kind: 'subscription',
      field: 'responseStream',
      inputType: 'ModelResponseInput',
      selection: '{ type event }',
    },
  },
} as const;

/** The part of a conversation that the history stores: no pictures and no faults. */
const kept = (turns: readonly Turn[]): string =>
  JSON.stringify(turns.map(({ images: _, fault: __, ...turn }) => turn));

function remembered({ values }: Work): Turn[] {
  try {
    return JSON.parse(values['turns'] ?? '[]') as Turn[];
  } catch {
    return [];
  }
}

/** The input of the next request, or null if the tools are not valid JSON. */
function inputNow(protocol: keyof typeof CODE, turns: readonly Turn[], settings: ChatSettings) {
  try {
    return (protocol === 'chat' ? chatInput : responseInput)(turns, settings);
  } catch {
    return null;
  }
}

/** A conversation with a model, streamed, as chat completions or as responses. */
export function ChatPanel({
  protocol,
  model = '',
}: {
  protocol: keyof typeof CODE;
  model?: string;
}): ReactNode {
  const [settings, setSettings] = useState({ ...NOTHING, model });
  const [draft, setDraft] = useState<Turn>({ role: 'user', content: '' });
  const { works, add, clear } = useHistory(protocol);
  const talk = useConversation(protocol, (id, turns) =>
    add({
      id,
      title: turns[0]?.content ?? '',
      at: new Date().toISOString(),
      values: { turns: kept(turns) },
    }),
  );
  const isEmpty = draft.content.trim() === '' && draft.images === undefined;
  const next = isEmpty ? talk.turns : [...talk.turns, draft];
  const estimated = isEmpty || talk.isAnswering ? null : inputNow('chat', next, settings);
  const input = inputNow(protocol, next, settings) ?? {};
  return (
    <div className="play play-chat">
      <section className="card chat" aria-label="Conversation">
        <Turns
          turns={talk.turns}
          isAnswering={talk.isAnswering}
          onAnswers={(answers) => talk.send(answers, settings)}
        />
        <Composer
          draft={draft}
          isAnswering={talk.isAnswering}
          onChange={setDraft}
          onStop={talk.stop}
          onSend={() => {
            talk.send([{ ...draft, content: draft.content.trim() }], settings);
            setDraft({ role: 'user', content: '' });
          }}
        />
        <EstimateLine input={estimated === null ? null : { chat: estimated }} />
      </section>
      <div className="works">
        <Card title="Settings">
          <SettingsForm settings={settings} protocol={protocol} onChange={setSettings} />
          <Button disabled={talk.turns.length === 0 || talk.isAnswering} onClick={() => talk.begin()}>
            New conversation
          </Button>
          <CodeView call={{ ...CODE[protocol], input }} />
        </Card>
        <Past
          works={works}
          isBusy={talk.isAnswering}
          onChosen={(work) => talk.begin(work.id, remembered(work))}
          onClear={clear}
        />
      </div>
    </div>
  );
}
