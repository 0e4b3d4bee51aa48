import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { KnowledgeFile, Memory } from '../../src/agents/index.js';
import { UPLOADED_PREFIX } from '../../src/files/index.js';
import type { FileSource } from '../../src/files/files.types.js';
import { invalid } from '../../src/contract/errors.js';
import { After, Before, First, FirstOrAll, Last, pageOrAll, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import {
  AgentMemoryConnection,
  DeleteKnowledgeResult,
  DeleteMemoryResult,
  KnowledgeFileConnection,
  KnowledgeFileType,
  UploadKnowledgeInput,
} from './knowledge.type.js';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The file of a multipart request, or the input's base64. @throws ApiError invalid_request */
async function fileOf(
  { body, spooled, call, services }: GraphqlContext,
  input: UploadKnowledgeInput | null,
): Promise<FileSource> {
  if (spooled) {
    const [unknown] = Object.keys(body ?? {}).filter((name) => name !== 'file');
    if (unknown !== undefined) throw invalid(`Unknown parameter: ${unknown}`, unknown);
    return { path: spooled.path, sizeBytes: spooled.sizeBytes };
  }
  if (body || input === null) throw invalid('file is required', 'file');
  if (input.content.startsWith(UPLOADED_PREFIX)) {
    const { orgId } = call.principal;
    const id = input.content.slice(UPLOADED_PREFIX.length);
    const uploaded = await services.files.uploaded(orgId, id, 'knowledge');
    if (uploaded === null)
      throw invalid(
        'Unknown file: its id is none of a file that was uploaded whole for knowledge',
        'content',
      );
    return { bytes: await services.files.read(orgId, uploaded.id) };
  }
  if (!BASE64.test(input.content)) throw invalid('content must be base64', 'content');
  return { bytes: Buffer.from(input.content, 'base64') };
}

@Resolver(() => KnowledgeFileType)
export class KnowledgeResolver {
  @Scope('agents')
  @Query(() => KnowledgeFileConnection, { description: "An agent's knowledge files, newest first." })
  async knowledgeFiles(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of an agent of the organisation.' }) agentId: string,
    @FirstOrAll() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<KnowledgeFile>> {
    const page = pageOrAll({ first, after, last, before });
    return toConnection(await services.knowledge.page(call.principal, agentId, page), after);
  }

  @Scope('agents')
  @Query(() => KnowledgeFileType, {
    description: 'One knowledge file of an agent. Poll it until its status is completed or failed.',
  })
  knowledgeFile(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of its agent.' }) agentId: string,
    @Arg('id', () => ID, { description: 'Id of the file.' }) id: string,
  ): Promise<KnowledgeFile> {
    return services.knowledge.get(call.principal, agentId, id);
  }

  @Scope('agents')
  @Mutation(() => KnowledgeFileType, {
    description: 'Uploads a PDF, Markdown, TXT, CSV or DOCX file. It is read in the background.',
  })
  uploadKnowledgeFile(
    @Ctx() context: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of an agent of the organisation.' }) agentId: string,
    @Arg('input', () => UploadKnowledgeInput, { nullable: true, description: 'The file.' }) input:
      | UploadKnowledgeInput
      | null
      | undefined,
  ): Promise<KnowledgeFile> {
    const { call, services } = context;
    const filename = context.spooled?.filename ?? input?.filename ?? '';
    // The plan and the agent are checked before the file (decisions 1), so the file is opened later, when it is read.
    const open = () => fileOf(context, input ?? null);
    return services.knowledge.upload(call, agentId, { filename, open });
  }

  @Scope('agents')
  @Mutation(() => DeleteKnowledgeResult, {
    description: 'Deletes a knowledge file. Runs stop using it at once.',
  })
  async deleteKnowledgeFile(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of its agent.' }) agentId: string,
    @Arg('id', () => ID, { description: 'Id of the file.' }) id: string,
  ): Promise<DeleteKnowledgeResult> {
    return { id, success: true, file: await services.knowledge.delete(call.principal, agentId, id) };
  }

  @Scope('agents')
  @Query(() => AgentMemoryConnection, { description: 'Facts that users told an agent, newest first.' })
  async agentMemories(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('agentId', () => ID, { description: 'Id of the agent.' }) agentId: string,
    @Arg('user', () => String, {
      nullable: true,
      description: 'Only facts from this end user. Default: from all end users.',
    })
    user: string | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Memory>> {
    await services.agents.get(call.principal, agentId);
    const page = await services.memories.list(call.principal, agentId, {
      ...pageQuery({ first, after, last, before }),
      ...(user == null ? {} : { endUser: user }),
    });
    return toConnection(page, after);
  }

  @Scope('agents')
  @Mutation(() => DeleteMemoryResult, { description: 'Deletes a fact that a user told an agent.' })
  async deleteAgentMemory(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the memory.' }) id: string,
  ): Promise<DeleteMemoryResult> {
    return { id, success: true, memory: await services.memories.delete(call.principal, id) };
  }
}
