import { graphql, type ResultOf } from './graphql.js';
import { textIn, wordIn } from './search.js';

const AGENT = graphql(`
  fragment AgentRow on Agent {
    id
    name
    description
    icon
    systemPrompt
    modelId
    tools
    temperature
    maxTokens
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

/** The cache keeps the answer, so that every view shows the change. */
export const UPDATE_AGENT = graphql(
  `
    mutation UpdateAgent($id: ID!, $input: UpdateAgentInput!) {
      updateAgent(id: $id, input: $input) {
        ...AgentRow
      }
    }
  `,
  [AGENT],
);

export const DUPLICATE_AGENT = graphql(`
  mutation DuplicateAgent($id: ID!, $input: DuplicateAgentInput) {
    duplicateAgent(id: $id, input: $input) {
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

export const AGENT_TOOLS = graphql(`
  query AgentTools {
    agentTools {
      id
      description
      credits
      server
    }
  }
`);

/** An agent, with the fields that its view shows. */
export type Agent = ResultOf<typeof ONE_AGENT>['agent'];
/** A tool that agents can be granted. */
export type Tool = ResultOf<typeof AGENT_TOOLS>['agentTools'][number];

/** The tabs of an agent's view, besides its runs. */
export const AGENT_TABS = ['settings', 'knowledge', 'memories'] as const;

/** The search parameters in the address of an agent. */
export interface AgentSearch {
  /** Undefined: the tab with the agent's runs. */
  tab?: (typeof AGENT_TABS)[number] | undefined;
  /** The conversation that is shown. */
  session?: string | undefined;
}

/** @throws BadAddress */
export const readAgentSearch = (search: Record<string, unknown>): AgentSearch => ({
  tab: wordIn(search, 'tab', AGENT_TABS),
  session: textIn(search, 'session'),
});
