import { createReadStream } from 'node:fs';
import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { badCursor, toPage, newestFirst } from '../../collections/page.js';
import type { Page, PageQuery } from '../../collections/page.js';
import { sqlOf } from '../../database/index.js';
import type { Database, Sql } from '../../database/database.types.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import type { FileService, FileSource } from '../../files/files.types.js';
import { newId } from '../../contract/ids.js';
import { bindToKey, takeBoundId } from '../../idempotency/index.js';
import type { KeyedCall } from '../../idempotency/index.js';
import { FairSemaphore } from '../../processes/index.js';
import { agentPlanOf } from '../agent.input.js';
import { AgentEntity } from '../agent.entity.js';
import type {
  CopiedFile,
  ExtractedText,
  SourceDocument,
  KnowledgeFile,
  KnowledgeService,
} from '../agents.types.js';
import { ExtractionError, extractText } from './extract.js';
import { baseName, CONTENT_TYPES, kindOf } from './file-kind.js';
import { KnowledgeFileEntity, toKnowledgeFile } from './knowledge.entity.js';
import { COPY, LOCK_UPLOADS, NOTIFY } from './knowledge.queries.js';
import { Retrieval } from './retrieval.js';

const MB = 1024 * 1024;
/** How many passages a duplicate copies while its caller waits: a second or two. Workers read larger files again. */
const MAX_COPIED_PASSAGES = 1_000;
/** Documents that are read at the same time for runs. */
const READERS = 4;
const MAX_WAITING_PER_ORG = 100;

type NewFile = Pick<KnowledgeFile, 'id' | 'agentId' | 'filename' | 'contentType' | 'sizeBytes'> & {
  orgId: string;
  fileId: string;
};

export interface KnowledgeOptions {
  database: Database;
  files: FileService;
}

/** An agent's knowledge files (contract 2.13, 3.2; decisions 6 "Agents"). */
export function createKnowledgeService(options: KnowledgeOptions): KnowledgeService {
  return new Knowledge(options);
}

class Knowledge implements KnowledgeService {
  private readonly retrieval: Retrieval;
  /** Each is a process of up to 440 MB. */
  private readonly readers = new FairSemaphore({ permits: READERS, maxWaitingPerOrg: MAX_WAITING_PER_ORG });

  constructor(private readonly options: KnowledgeOptions) {
    this.retrieval = new Retrieval(options.database);
  }

  async upload(
    call: KeyedCall,
    agentId: string,
    file: { filename: string; open(): FileSource | Promise<FileSource> },
  ): Promise<KnowledgeFile> {
    const { principal } = call;
    const made = takeBoundId(call, 'kf');
    if (made !== null) return await this.get(principal, agentId, made);
    const plan = agentPlanOf(principal.plan);
    await this.ownAgent(principal, agentId);
    const source = await file.open();
    const sizeBytes = 'bytes' in source ? source.bytes.byteLength : source.sizeBytes;
    checkSize(sizeBytes, plan.maxKnowledgeFileMb);
    const filename = baseName(file.filename);
    const content = 'bytes' in source ? [Buffer.from(source.bytes)] : createReadStream(source.path);
    const kind = await kindOf(content, filename);
    if (kind === null) throw invalid('Unsupported file type', 'file');
    const { orgId } = principal;
    const contentType = CONTENT_TYPES[kind];
    const limitBytes = storageLimitOf(principal.plan);
    const stored = await this.options.files.save({
      ...source,
      orgId,
      contentType,
      extension: kind,
      limitBytes,
    });
    const uploaded = { id: newId('kf'), orgId, agentId, fileId: stored.id, filename, contentType, sizeBytes };
    try {
      return await this.insert(call, uploaded, plan.maxKnowledgeFiles);
    } catch (error) {
      await this.options.files.remove(principal.orgId, [stored.id]);
      throw error;
    }
  }

  async page(principal: Principal, agentId: string, page: PageQuery): Promise<Page<KnowledgeFile>> {
    agentPlanOf(principal.plan);
    await this.ownAgent(principal, agentId);
    const bad = badCursor(page, (cursor) => /^kf_[0-9a-z]{26}$/.test(cursor));
    if (bad !== undefined) throw invalid('Invalid cursor', bad);
    const { parts, options } = newestFirst(page);
    const { database } = this.options;
    const rows = await database.tenant(principal.orgId, (em) =>
      em.find(KnowledgeFileEntity, { $and: [{ agentId }, ...parts] }, options),
    );
    return {
      ...toPage(rows.map(toKnowledgeFile), page, ({ id }) => id),
      count: () => database.tenant(principal.orgId, (em) => em.count(KnowledgeFileEntity, { agentId })),
    };
  }

  async getMany(principal: Principal, ids: readonly string[]): Promise<KnowledgeFile[]> {
    agentPlanOf(principal.plan);
    return await this.options.database.tenant(principal.orgId, async (em) =>
      (await em.find(KnowledgeFileEntity, { id: { $in: [...ids] } })).map(toKnowledgeFile),
    );
  }

  async get(principal: Principal, agentId: string, fileId: string): Promise<KnowledgeFile> {
    agentPlanOf(principal.plan);
    await this.ownAgent(principal, agentId);
    return await this.options.database.tenant(principal.orgId, async (em) =>
      toKnowledgeFile(await find(em, { id: fileId, agentId })),
    );
  }

  async delete(principal: Principal, agentId: string, fileId: string): Promise<KnowledgeFile> {
    agentPlanOf(principal.plan);
    await this.ownAgent(principal, agentId);
    const deleted = await this.options.database.tenant(principal.orgId, async (em) => {
      // Only one of two concurrent deletions finds the row. Its passages are deleted with it.
      const options = { lockMode: LockMode.PESSIMISTIC_WRITE };
      const file = await find(em, { id: fileId, agentId }, options);
      em.remove(file);
      return { stored: file.fileId, shown: toKnowledgeFile(file) };
    });
    await this.options.files.remove(principal.orgId, [deleted.stored]);
    return deleted.shown;
  }

  async forgetAgent(orgId: string, agentId: string): Promise<void> {
    const files = await this.options.database.tenant(orgId, async (em) => {
      const options = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
      const rows = await em.find(KnowledgeFileEntity, { agentId }, options);
      em.remove(rows);
      return rows.map(({ fileId }) => fileId);
    });
    await this.options.files.remove(orgId, files);
  }

  async copyBytes({ orgId, plan }: Principal, agentId: string): Promise<CopiedFile[]> {
    const { database, files } = this.options;
    const limitBytes = storageLimitOf(plan);
    const rows = await database.tenant(orgId, (em) =>
      em.find(KnowledgeFileEntity, { agentId }, { orderBy: { id: 'asc' } }),
    );
    const copies: CopiedFile[] = [];
    try {
      for (const { id, fileId } of rows) {
        const source = await this.stored(orgId, fileId);
        if (source === null) continue;
        const copy = await files.save({ orgId, ...source, limitBytes });
        copies.push({ sourceId: id, fileId: copy.id });
      }
      return copies;
    } catch (error) {
      await this.forgetCopies(orgId, copies);
      throw error;
    }
  }

  async forgetCopies(orgId: string, copies: CopiedFile[]): Promise<void> {
    const ids = copies.map(({ fileId }) => fileId);
    await this.options.files.remove(orgId, ids);
  }

  async attach(sql: Sql, { orgId, agentId }: { orgId: string; agentId: string }, copies: CopiedFile[]) {
    let room = MAX_COPIED_PASSAGES;
    for (const { sourceId, fileId } of copies) {
      const values = [sourceId, orgId, newId('kf'), agentId, fileId, room];
      const [made] = await sql.query<{ passages: number }>(COPY, values);
      room -= made?.passages ?? 0;
    }
    if (copies.length > 0) await sql.query(NOTIFY, [agentId]);
  }

  search(input: Parameters<KnowledgeService['search']>[0]): ReturnType<KnowledgeService['search']> {
    return this.retrieval.search(input);
  }

  async extract(document: SourceDocument, maxCharacters: number): Promise<ExtractedText> {
    const { orgId, bytes, filename, signal } = document;
    const kind = await kindOf([bytes], baseName(filename));
    if (kind === null) throw invalid('Unsupported file type', 'attachments');
    const permit = await this.readers.acquire(orgId, signal);
    try {
      return await extractText({ bytes, kind, signal }, maxCharacters);
    } catch (error) {
      // The caller disconnected or its time is over.
      signal.throwIfAborted();
      if (error instanceof ExtractionError) throw invalid(error.message, 'attachments');
      throw error;
    } finally {
      permit.release();
    }
  }

  /** Null: deleted since it was listed. */
  private async stored(orgId: string, fileId: string) {
    const { files } = this.options;
    try {
      const { contentType, extension } = await files.get(orgId, fileId);
      return { bytes: await files.read(orgId, fileId), contentType, extension };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  }

  private async insert(call: KeyedCall, uploaded: NewFile, max: number): Promise<KnowledgeFile> {
    const { orgId, agentId } = uploaded;
    return await this.options.database.allTenants(async (em) => {
      const sql = sqlOf(em);
      await sql.query(LOCK_UPLOADS, [agentId]);
      if ((await em.count(KnowledgeFileEntity, { orgId, agentId })) >= max)
        throw new ApiError('quota_exceeded', 'Knowledge file limit reached');
      const file = em.create(KnowledgeFileEntity, uploaded);
      await em.flush();
      await bindToKey(sql, call, file.id);
      await sql.query(NOTIFY, [agentId]);
      return toKnowledgeFile(file);
    });
  }

  private async ownAgent(principal: Principal, agentId: string): Promise<void> {
    const { orgId } = principal;
    const found = await this.options.database.tenant(orgId, (em) =>
      em.count(AgentEntity, { id: agentId, orgId }),
    );
    if (found === 0) throw notFound('Agent not found');
  }
}

/** @throws ApiError not_found */
async function find(
  em: EntityManager,
  where: { id: string; agentId: string },
  options: { lockMode?: LockMode } = {},
) {
  const file = await em.findOne(KnowledgeFileEntity, where, options);
  if (file === null) throw notFound('Knowledge file not found');
  return file;
}

/** @throws ApiError payload_too_large */
function checkSize(bytes: number, maxMb: number): void {
  if (bytes > maxMb * MB)
    throw new ApiError('payload_too_large', `File exceeds the maximum size of ${maxMb} MB`, {
      param: 'file',
    });
}
