import { useState, type ReactNode } from 'react';
import { Button } from '../ui/basics.js';
import { LANGUAGES, codeOf, type Call, type Language } from './code.js';

/** The installation's address, with a slash at the end. The page is directly below this address. */
const addressOf = (): string => new URL('.', document.baseURI).href;

/** Shows the call of the form as code that can be copied. */
export function CodeView({ call }: { call: Call }): ReactNode {
  const [language, setLanguage] = useState<Language>('curl');
  const [isCopied, setCopied] = useState(false);
  const code = codeOf(call, language, addressOf());
  const copy = (): void => {
    // Without https the browser has no clipboard interface. The text can still be selected.
    navigator.clipboard?.writeText(code).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <details className="code-view">
      <summary>View code</summary>
      <div className="segments" role="group" aria-label="Language">
        {LANGUAGES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === language}
            onClick={() => {
              setLanguage(one);
              setCopied(false);
            }}
          >
            {one}
          </button>
        ))}
      </div>
      <pre className="json" tabIndex={0} aria-label={`${language} code`}>
        {code}
      </pre>
      <Button kind="quiet" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy code'}
      </Button>
    </details>
  );
}
