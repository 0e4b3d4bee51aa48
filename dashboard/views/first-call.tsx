import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { serverAddress } from '../data/api.js';
import { useRights } from '../data/hooks.js';
import { firstCalls } from '../data/snippets.js';
import { Card } from '../ui/basics.js';
import { Code } from '../ui/code.js';
import { Tabs } from '../ui/tabs.js';

/** The first steps for an organisation that has not made a call yet. */
export function FirstCall(): ReactNode {
  const { canManage } = useRights();
  const tabs = firstCalls(serverAddress()).map(({ text, ...tab }) => ({
    ...tab,
    content: <Code label={`${tab.label} snippet`} text={text} />,
  }));
  return (
    <Card title="Make the first call">
      <ol className="checklist">
        <li>
          <h3>Get a key</h3>
          <p className="muted">
            {canManage ? (
              <>
                <Link to="/settings/{-$tab}" params={{ tab: 'keys' }}>
                  Make an API key
                </Link>
                , and keep it as PENSTOCK_KEY in your environment.
              </>
            ) : (
              'Ask an owner or admin of the organisation for an API key.'
            )}
          </p>
        </li>
        <li>
          <h3>Call</h3>
          <Tabs label="Languages" tabs={tabs} />
        </li>
        <li>
          <h3>Watch</h3>
          <p className="muted">
            The call stands among the <Link to="/requests">requests</Link> at once, and this page counts it.
            Or try the models in the <Link to="/playground/{-$tab}">playground</Link> first.
          </p>
        </li>
      </ol>
    </Card>
  );
}
