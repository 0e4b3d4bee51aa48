import { useEffect } from 'react';
import { graphql, type ResultOf } from './graphql.js';
import { useWholeList, type Pages } from './pages.js';

const KNOWLEDGE = graphql(`
  query KnowledgeFiles($agentId: ID!, $after: String) {
    knowledgeFiles(agentId: $agentId, first: 100, after: $after) {
      nodes {
        id
        filename
        contentType
        sizeBytes
        status
        errorMessage
        chunkCount
        createdAt
      }
      nextCursor
    }
  }
`);

export const ADD_KNOWLEDGE = graphql(`
  mutation AddKnowledge($agentId: ID!, $input: UploadKnowledgeInput!) {
    uploadKnowledgeFile(agentId: $agentId, input: $input) {
      id
    }
  }
`);

export const DELETE_KNOWLEDGE = graphql(`
  mutation DeleteKnowledge($agentId: ID!, $id: ID!) {
    deleteKnowledgeFile(agentId: $agentId, id: $id) {
      success
    }
  }
`);

export const MEMORIES = graphql(`
  query AgentMemories($agentId: ID!, $user: String, $first: Int, $after: String) {
    agentMemories(agentId: $agentId, user: $user, first: $first, after: $after) {
      nodes {
        id
        endUser
        content
        createdAt
      }
      nextCursor
    }
  }
`);

export const DELETE_MEMORY = graphql(`
  mutation DeleteAgentMemory($id: ID!) {
    deleteAgentMemory(id: $id) {
      success
    }
  }
`);

/** A document that an agent answers from. */
export type KnowledgeFile = ResultOf<typeof KNOWLEDGE>['knowledgeFiles']['nodes'][number];
/** A fact that an agent remembers from a conversation. */
export type Memory = ResultOf<typeof MEMORIES>['agentMemories']['nodes'][number];

/** No event reports that a file was processed, so the list is read again after this time. */
const READING_MS = 1500;

const isBeingRead = ({ status }: KnowledgeFile): boolean => status === 'pending' || status === 'processing';

/** The documents of an agent. The list is read again while a document is being processed. */
export function useKnowledge(agentId: string): Pages<KnowledgeFile> {
  const pages = useWholeList({
    operation: KNOWLEDGE,
    variables: { agentId },
    page: ({ knowledgeFiles }) => knowledgeFiles,
  });
  const { items, reload } = pages;
  const isOpen = items?.some(isBeingRead) === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(reload, READING_MS);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  return pages;
}
