import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
import { useQuery } from '../data/hooks.js';
import { href } from '../route.js';
import { Card, FaultNotice, Loading } from '../ui/basics.js';
import { Time, asAmount, inDigits } from '../ui/format.js';
import { Json } from '../ui/media.js';
import { PageFrame } from '../ui/page.js';

const RESPONSE = graphql(`
  query Response($id: ID!) {
    response(id: $id) {
      id
      status
      createdAt
      modelId
      outputText
      output
      usage {
        inputTokens
        outputTokens
        creditsUsed
      }
    }
  }
`);

/** A stored response of the Responses convention. */
export function ResponseView(): ReactNode {
  const { id } = useParams({ from: '/responses/$id' });
  const { data, fault, isLoading, reload } = useQuery(RESPONSE, { id });
  const response = data?.response;
  return (
    <PageFrame
      title="Response"
      note={<span className="code">{id}</span>}
      back={{ href: href('requests'), label: 'Requests' }}
    >
      <FaultNotice fault={fault} retry={reload} />
      {response === undefined && isLoading && <Loading rows={5} />}
      {response && (
        <Card title="Answer" note={<Time iso={response.createdAt} />}>
          <p className="pre">{response.outputText}</p>
          <p className="hint">
            {response.status} · <span className="code">{response.modelId}</span>
            {response.usage &&
              ` · ${inDigits(response.usage.inputTokens)} → ${inDigits(response.usage.outputTokens)} tokens · ${asAmount(response.usage.creditsUsed, 'credits')}`}
          </p>
          <details>
            <summary>All output</summary>
            <Json value={response.output} />
          </details>
        </Card>
      )}
    </PageFrame>
  );
}
