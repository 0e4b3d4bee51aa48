import { Arg, Ctx, Extensions, Mutation, Resolver } from 'type-graphql';
import { storageLimitOf } from '../../src/access/index.js';
import { LIMITED_ENDPOINTS } from '../../src/contract/words.js';
import type { Scope } from '../../src/contract/words.js';
import type { UploadPurpose } from '../../src/files/index.js';
import { bindToKey, takeBoundId } from '../../src/idempotency/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { GraphqlContext } from '../context.js';
import { requireAgents, requireScope } from '../guard.js';
import type { FieldGuard } from '../guard.js';
import { CreateUploadInput, CreateUploadResult } from './upload.type.js';

/** The largest file that a field accepts: a source video (decisions 6, "Generations"). */
const MAX_INPUT_MB = 100;

/** A key that can use a file may upload it: an input needs any scope that generates or runs agents. @throws ApiError forbidden, plan_required */
function requirePurpose(call: CallContext, purpose: UploadPurpose): void {
  const using: readonly Scope[] = purpose === 'knowledge' ? ['agents'] : [...LIMITED_ENDPOINTS, 'agents'];
  requireScope(call, using.find((scope) => call.principal.scopes.has(scope)) ?? using[0] ?? 'agents');
  if (purpose === 'knowledge') requireAgents(call);
}

const GUARD: FieldGuard = { scope: null, role: 'member', admittedByService: false };

/** Files that browsers upload directly (beyond 14.10). */
@Resolver()
export class UploadResolver {
  @Extensions({ penstock: GUARD })
  @Mutation(() => CreateUploadResult, {
    description:
      'Begins the upload of a file: an input of a generation or a run (any scope that uses inputs), or knowledge of an agent (scope `agents`). Storage of its size is reserved immediately, and released if the upload is not complete within 24 hours.',
  })
  async createUpload(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('input', () => CreateUploadInput, { description: 'The file.' }) input: CreateUploadInput,
  ): Promise<CreateUploadResult> {
    const { principal } = call;
    const { orgId, plan } = principal;
    const { purpose } = input;
    requirePurpose(call, purpose);
    const made = takeBoundId(call, 'file');
    const maxMb = purpose === 'input' ? MAX_INPUT_MB : (plan.agents?.maxKnowledgeFileMb ?? 0);
    const upload =
      made === null
        ? await services.uploads.create({
            orgId,
            contentType: input.contentType,
            sizeBytes: input.sizeBytes,
            purpose,
            maxMb,
            limitBytes: storageLimitOf(plan),
            bind: (sql, id) => bindToKey(sql, call, id),
          })
        : await services.uploads.again(orgId, made);
    const { url, ...file } = upload;
    return { url, headers: [{ name: 'Content-Type', value: file.contentType }], file };
  }
}
