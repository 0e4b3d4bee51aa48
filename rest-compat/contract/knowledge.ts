import type { Route } from '../shared/route.types.js';
import { wrapped } from './wrapped.js';

/** decisions 6 "Agents", knowledge record. */
const FILE = `
  id agent_id: agentId filename content_type: contentType size_bytes: sizeBytes status error_message: errorMessage
  chunk_count: chunkCount created_at: createdAt updated_at: updatedAt`;

const ID = { id: { description: "The agent's id.", example: 'agt_01jd0000000000000000000000' } };
const FILE_ID = {
  fileId: { description: "The knowledge file's id.", example: 'kf_01jd0000000000000000000000' },
};

const common = { tag: 'Agents' } as const;

export const knowledgeRoutes: Route[] = [
  {
    ...common,
    method: 'POST',
    path: '/agents/{id}/knowledge',
    operationId: 'uploadKnowledgeFile',
    summary: 'Upload a knowledge file (PDF, Markdown, TXT, CSV, DOCX)',
    description:
      'multipart/form-data with the form field `file`. The file is read in the background: poll its `status`.',
    document: `mutation ($id: ID!, $input: UploadKnowledgeInput) {
      body: uploadKnowledgeFile(agentId: $id, input: $input) { ${FILE} }
    }`,
    parameters: ID,
    upload: {
      field: 'file',
      limit: 'knowledge',
      accepts:
        'text/plain, text/markdown, text/csv, application/pdf, application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    },
    ...wrapped('file'),
    schemaName: 'KnowledgeFileAnswer',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}/knowledge',
    operationId: 'listKnowledgeFiles',
    summary: 'List knowledge files, newest first',
    document: `query ($id: ID!) {
      body: knowledgeFiles(agentId: $id, first: null) { files: nodes { ${FILE} } }
    }`,
    parameters: ID,
    schemaName: 'KnowledgeFileList',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}/knowledge/{fileId}',
    operationId: 'getKnowledgeFile',
    summary: 'Read a knowledge file',
    document: `query ($id: ID!, $fileId: ID!) { body: knowledgeFile(agentId: $id, id: $fileId) { ${FILE} } }`,
    parameters: { ...ID, ...FILE_ID },
    ...wrapped('file'),
    readsDuringAdmission: true,
    schemaName: 'KnowledgeFileAnswer',
  },
  {
    ...common,
    method: 'DELETE',
    path: '/agents/{id}/knowledge/{fileId}',
    operationId: 'deleteKnowledgeFile',
    summary: 'Delete a knowledge file with its passages',
    document: `mutation ($id: ID!, $fileId: ID!) { body: deleteKnowledgeFile(agentId: $id, id: $fileId) { success } }`,
    parameters: { ...ID, ...FILE_ID },
    schemaName: 'Success',
  },
];
