import type { ReactNode } from 'react';
import { Button, Card } from '../ui/basics.js';
import { Time } from '../ui/format.js';
import type { Work } from './history.js';

interface PastProps {
  works: readonly Work[];
  isBusy?: boolean;
  onChosen(work: Work): void;
  onClear(): void;
}

/** The history of this browser. */
export function Past({ works, isBusy = false, onChosen, onClear }: PastProps): ReactNode {
  if (works.length === 0) return null;
  return (
    <Card title="Before" note="Kept in this browser">
      <ul className="past">
        {works.map((work) => (
          <li key={work.id}>
            <button type="button" className="link line" disabled={isBusy} onClick={() => onChosen(work)}>
              {work.title === '' ? 'A picture' : work.title}
            </button>
            <span className="hint">
              <Time iso={work.at} />
            </span>
          </li>
        ))}
      </ul>
      <Button kind="quiet" onClick={onClear}>
        Clear
      </Button>
    </Card>
  );
}
