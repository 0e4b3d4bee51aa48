import { useState, type ReactNode } from 'react';
import { EVENT_EXAMPLES, WEBHOOK_EVENTS } from '../data/words.generated.js';
import { Card } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { Json } from '../ui/media.js';

type EventType = (typeof WEBHOOK_EVENTS)[number];

/** Describes when each event happens. */
const WHEN: Record<EventType, string> = {
  'agent.run.started': 'An agent begins its work.',
  'agent.run.completed': 'An agent has answered.',
  'agent.run.failed': 'An agent has given up.',
  'generation.started': 'A worker has taken a job.',
  'generation.completed': 'A job is done; its file is a signed address.',
  'generation.failed': 'A job has failed, after its last attempt.',
  'chat.message.created': 'A chat was answered.',
  'chat.conversation.created': 'Somebody began to talk with an agent.',
  'subscription.created': 'A plan was taken.',
  'subscription.updated': 'The plan was changed.',
  'subscription.cancelled': 'The plan ends with its period.',
  'credits.low': 'A bucket is nearly used up.',
  'credits.depleted': 'A bucket is used up.',
  'budget.threshold': 'A budget has passed one of its thresholds.',
  'team.member.added': 'A person was added.',
  'team.member.removed': 'A person was removed.',
  'team.member.role_changed': 'A person has another role.',
};

/** The events that a webhook can receive, and their data. */
export function EventCatalogue(): ReactNode {
  const [type, setType] = useState<EventType>('generation.completed');
  return (
    <Card
      title="Events"
      note="Each is sent with the headers x-service-signature, -timestamp, -event-id and -event-type."
    >
      <div className="catalogue">
        <div className="form">
          <SelectField
            label="Event"
            name="event"
            value={type}
            onChange={({ target }) => setType(target.value as EventType)}
          >
            {WEBHOOK_EVENTS.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </SelectField>
          <p>{WHEN[type]}</p>
          <p className="hint">
            The signature is the lower-case hex HMAC-SHA256 of the timestamp, a colon and the raw body, under
            the webhook’s secret.
          </p>
        </div>
        <Json value={EVENT_EXAMPLES[type]} />
      </div>
    </Card>
  );
}
