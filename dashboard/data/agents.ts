import { useState } from 'react';
import { toFault, type Fault } from './fault.js';
import { graphql, type ResultOf } from './graphql.js';
import { useFollow, useQuery } from './hooks.js';

const AGENT = graphql(`
  fragment AgentRow on Agent {
    id
    name
    description
    systemPrompt
    model: modelId
    tools
    temperature
    maxIterations
    memoryEnabled
    isTemplate
    templateCategory
    isPublic
    runCount
    updatedAt
  }
`);

export const AGENTS = graphql(
  `
    query Agents($first: Int, $after: String, $includeTemplates: Boolean) {
      agents(first: $first, after: $after, includeTemplates: $includeTemplates) {
        nodes {
          ...AgentRow
        }
        nextCursor
      }
    }
  `,
  [AGENT],
);

export const ONE_AGENT = graphql(
  `
    query Agent($id: ID!) {
      agent(id: $id) {
        ...AgentRow
      }
    }
  `,
  [AGENT],
);

export const CREATE_AGENT = graphql(`
  mutation CreateAgent($input: CreateAgentInput!) {
    createAgent(input: $input) {
      id
    }
  }
`);

export const UPDATE_AGENT = graphql(`
  mutation UpdateAgent($id: ID!, $input: UpdateAgentInput!) {
    updateAgent(id: $id, input: $input) {
      id
    }
  }
`);

export const DUPLICATE_AGENT = graphql(`
  mutation DuplicateAgent($id: ID!) {
    duplicateAgent(id: $id) {
      id
    }
  }
`);

export const DELETE_AGENT = graphql(`
  mutation DeleteAgent($id: ID!) {
    deleteAgent(id: $id) {
      success
    }
  }
`);

export const RUN_AGENT = graphql(`
  mutation RunAgent($id: ID!, $input: RunAgentInput!) {
    runAgent(id: $id, input: $input) {
      id
    }
  }
`);

export const CANCEL_RUN = graphql(`
  mutation CancelAgentRun($id: ID!) {
    cancelAgentRun(id: $id) {
      id
      status
    }
  }
`);

export const AGENT_RUNS = graphql(`
  query AgentRuns($agentId: ID!, $first: Int, $after: String) {
    agentRuns(agentId: $agentId, first: $first, after: $after) {
      nodes {
        id
        status
        input
        totalSteps
        creditsUsed
        durationMs
        createdAt
      }
      nextCursor
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
    output
    errorMessage
    totalSteps
    tokensUsed
    creditsUsed
    durationMs
    createdAt
  }
`);

const STEP = graphql(`
  fragment StepFields on AgentStep {
    stepNumber
    stepType
    content
    toolName
    toolInput
    toolOutput
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

/** An agent. */
export type Agent = ResultOf<typeof ONE_AGENT>['agent'];
/** A run as lists show it. */
export type RunRow = ResultOf<typeof AGENT_RUNS>['agentRuns']['nodes'][number];
/** A run. */
export type Run = ResultOf<typeof RUN_STEPS>['agentRunSteps']['run'];
/** One step of it. */
export type Step = ResultOf<typeof AGENT_RUN>['agentRun']['steps'][number];

/** A run with its steps as they come. */
export interface LiveRun {
  run: Run | undefined;
  steps: Step[];
  fault: Fault | undefined;
  isLoading: boolean;
  reload(): void;
}

/** All steps so far, then each as it is taken. A connection taken up again tells all of them once more: they are kept by number. */
export function useRun(id: string): LiveRun {
  const { data, fault, isLoading, reload } = useQuery(AGENT_RUN, { id });
  const [run, setRun] = useState<Run>();
  const [steps, setSteps] = useState<ReadonlyMap<number, Step>>(new Map());
  const [lost, setLost] = useState<Fault>();
  const isOpen = data?.agentRun.status === 'running';
  useFollow(RUN_STEPS, isOpen ? { runId: id } : null, {
    next({ agentRunSteps: { step, run: now } }) {
      setRun(now);
      if (step !== null) setSteps((before) => new Map(before).set(step.stepNumber, step));
    },
    fail: (thrown) => setLost(toFault(thrown)),
  });
  const all = steps.size > 0 ? [...steps.values()] : (data?.agentRun.steps ?? []);
  return {
    run: run ?? data?.agentRun,
    steps: all.toSorted((a, b) => a.stepNumber - b.stepNumber),
    fault: fault ?? lost,
    isLoading,
    reload,
  };
}
