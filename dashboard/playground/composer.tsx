import { useRef, type KeyboardEvent, type ReactNode } from 'react';
import { Button } from '../ui/basics.js';
import { TextArea } from '../ui/field.js';
import type { Turn } from './conversation.types.js';
import { readFile } from './read-file.js';

interface ComposerProps {
  draft: Turn;
  isAnswering: boolean;
  onChange(draft: Turn): void;
  onSend(): void;
  onStop(): void;
}

/** The field for the next message, with its pictures. */
export function Composer({ draft, isAnswering, onChange, onSend, onStop }: ComposerProps): ReactNode {
  const { content, images = [], ...rest } = draft;
  const file = useRef<HTMLInputElement>(null);
  const canSend = !isAnswering && (content.trim() !== '' || images.length > 0);
  const picture = (list: string[]): void =>
    onChange({ ...rest, content, ...(list.length === 0 ? {} : { images: list }) });
  const press = (event: KeyboardEvent): void => {
    // The Enter key can also confirm a composed character (for example in Japanese input). It must not send the message then.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (canSend) onSend();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend();
      }}
    >
      <div className="composer-text">
        <Attached images={images} onChange={picture} />
        <TextArea
          label="Message"
          name="message"
          rows={2}
          hint="Enter sends, Shift-Enter begins a line."
          value={content}
          onChange={({ target }) => onChange({ ...draft, content: target.value })}
          onKeyDown={press}
        />
      </div>
      <input
        ref={file}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        hidden
        onChange={({ target }) => {
          const [chosen] = target.files ?? [];
          if (chosen !== undefined) void readFile(chosen).then((url) => picture([...images, url]));
          target.value = '';
        }}
      />
      <Button aria-label="Add a picture" title="Add a picture" onClick={() => file.current?.click()}>
        + Picture
      </Button>
      {isAnswering ? (
        <Button onClick={onStop}>Stop</Button>
      ) : (
        <Button type="submit" kind="primary" disabled={!canSend}>
          Send
        </Button>
      )}
    </form>
  );
}

/** The pictures that will be sent with the message. */
function Attached({
  images,
  onChange,
}: {
  images: readonly string[];
  onChange(images: string[]): void;
}): ReactNode {
  if (images.length === 0) return null;
  return (
    <ul className="attached">
      {images.map((url, at) => (
        <li key={url.slice(-40)}>
          <img src={url} alt={`Picture ${at + 1}`} />
          <button
            type="button"
            className="close"
            aria-label={`Remove picture ${at + 1}`}
            onClick={() => onChange(images.filter((one) => one !== url))}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
