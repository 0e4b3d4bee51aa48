import type { ReactNode } from 'react';
import { SelectField, TextArea, TextField } from '../ui/field.js';
import { ModelSelect } from '../ui/model-select.js';
import type { ChatSettings } from './conversation.types.js';

const EXAMPLE = `[{"type": "function", "function": {"name": "water_level",
  "parameters": {"type": "object", "properties": {"river": {"type": "string"}}}}}]`;

interface SettingsProps {
  settings: ChatSettings;
  protocol: 'chat' | 'responses';
  onChange(settings: ChatSettings): void;
}

/** The settings for a model's answers. */
export function SettingsForm({ settings, protocol, onChange }: SettingsProps): ReactNode {
  const set = (change: Partial<ChatSettings>): void => onChange({ ...settings, ...change });
  return (
    <div className="form">
      <ModelSelect type="chat" value={settings.model} onChange={(model) => set({ model })} />
      <TextArea
        label={protocol === 'chat' ? 'System prompt' : 'Instructions'}
        name="system"
        rows={3}
        placeholder="Optional"
        value={settings.system}
        onChange={({ target }) => set({ system: target.value })}
      />
      <Numbers settings={settings} onChange={set} />
      <SelectField
        label="Reasoning"
        name="effort"
        value={settings.effort}
        onChange={({ target }) => set({ effort: target.value })}
      >
        <option value="">The model’s own</option>
        {['low', 'medium', 'high'].map((effort) => (
          <option key={effort}>{effort}</option>
        ))}
      </SelectField>
      {protocol === 'chat' && (
        <label className="check">
          <input
            type="checkbox"
            checked={settings.webSearch}
            onChange={({ target }) => set({ webSearch: target.checked })}
          />
          Search the web first
        </label>
      )}
      <TextArea
        label="Tools"
        name="tools"
        rows={3}
        spellCheck={false}
        placeholder="A JSON array of functions"
        hint={
          <button type="button" className="link" onClick={() => set({ tools: EXAMPLE })}>
            Take an example
          </button>
        }
        value={settings.tools}
        onChange={({ target }) => set({ tools: target.value })}
      />
    </div>
  );
}

function Numbers({
  settings,
  onChange,
}: {
  settings: ChatSettings;
  onChange(change: Partial<ChatSettings>): void;
}): ReactNode {
  return (
    <div className="field-row">
      <TextField
        label="Temperature"
        name="temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder="Its own"
        value={settings.temperature}
        onChange={({ target }) => onChange({ temperature: target.value })}
      />
      <TextField
        label="Longest answer"
        name="maxTokens"
        type="number"
        min={1}
        placeholder="Tokens"
        value={settings.maxTokens}
        onChange={({ target }) => onChange({ maxTokens: target.value })}
      />
    </div>
  );
}
