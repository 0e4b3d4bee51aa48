import { useState } from 'react';
import { toFault, type Fault } from './fault.js';
import { graphql, type ResultOf } from './graphql.js';
import { useFollow, useQuery } from './hooks.js';

export const RUN_AGENT = graphql(`
  mutation RunAgent($id: ID!, $input: RunAgentInput!) {
    runAgent(id: $id, input: $input) {
      id
      sessionId
    }
  }
`);

const RUN = graphql(`
  fragment RunFields on AgentRun {
    id
    agentId
    sessionId
    status
    input
    attachments {
      type
      name
      url
    }
    output
    errorMessage
    totalSteps
    tokensUsed
    creditsUsed
    durationMs
    createdAt
    completedAt
  }
`);

export const AGENT_RUNS = graphql(
  `
    query AgentRuns($agentId: ID!, $status: AgentRunStatus, $sessionId: ID, $first: Int, $after: String) {
      agentRuns(agentId: $agentId, status: $status, sessionId: $sessionId, first: $first, after: $after) {
        nodes {
          ...RunFields
        }
        nextCursor
      }
    }
  `,
  [RUN],
);

/** The cache keeps the answer, so that the run's view shows it. */
export const CANCEL_RUN = graphql(
  `
    mutation CancelAgentRun($id: ID!) {
      cancelAgentRun(id: $id) {
        ...RunFields
      }
    }
  `,
  [RUN],
);

const STEP = graphql(`
  fragment StepFields on AgentStep {
    stepNumber
    stepType
    content
    toolName
    toolInput
    toolOutput
    createdAt
    runTokens
    runCredits
  }
`);

const AGENT_RUN = graphql(
  `
    query AgentRun($id: ID!) {
      agentRun(id: $id) {
        ...RunFields
        steps {
          ...StepFields
        }
      }
    }
  `,
  [RUN, STEP],
);

const RUN_STEPS = graphql(
  `
    subscription AgentRunSteps($runId: ID!) {
      agentRunSteps(runId: $runId, after: 0) {
        step {
          ...StepFields
        }
        run {
          ...RunFields
        }
      }
    }
  `,
  [RUN, STEP],
);

/** The states of a run. */
export const RUN_STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const;

/** A run with the fields that lists show. */
export type RunRow = ResultOf<typeof AGENT_RUNS>['agentRuns']['nodes'][number];
/** A run. */
export type Run = ResultOf<typeof RUN_STEPS>['agentRunSteps']['run'];
/** One step of a run. */
export type Step = ResultOf<typeof AGENT_RUN>['agentRun']['steps'][number];

/** A run with its steps, updated live. */
export interface LiveRun {
  run: Run | undefined;
  steps: Step[];
  fault: Fault | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * Reads all steps so far, and then each new step. After a lost connection all steps arrive once more, so they are stored by number. The run itself is
 * in the cache, where events and a cancellation change it.
 */
export function useRun(id: string): LiveRun {
  const { data, fault, isLoading, reload } = useQuery(AGENT_RUN, { id });
  const [steps, setSteps] = useState<ReadonlyMap<number, Step>>(new Map());
  const [lost, setLost] = useState<Fault>();
  const isOpen = data?.agentRun.status === 'running';
  useFollow(RUN_STEPS, isOpen ? { runId: id } : null, {
    next({ agentRunSteps: { step } }) {
      if (step !== null) setSteps((before) => new Map(before).set(step.stepNumber, step));
    },
    fail: (thrown) => setLost(toFault(thrown)),
  });
  const all = steps.size > 0 ? [...steps.values()] : (data?.agentRun.steps ?? []);
  return {
    run: data?.agentRun,
    steps: all.toSorted((a, b) => a.stepNumber - b.stepNumber),
    fault: fault ?? lost,
    isLoading,
    reload,
  };
}
