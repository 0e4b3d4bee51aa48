import { readMcpFile } from '../agents/index.js';
import { loadPlans } from '../access/index.js';
import { ConfigError } from '../config/index.js';
import type { operatorFiles } from '../config/index.js';
import { checkModels } from '../models/index.js';
import { ProvidersFileError, readProvidersFile } from '../providers/index.js';

function faultsOf(settled: PromiseSettledResult<unknown>[]): string[] {
  return settled.flatMap((one) => {
    if (one.status === 'fulfilled') return [];
    const reason: unknown = one.reason;
    if (reason instanceof ConfigError) return reason.faults;
    return reason instanceof ProvidersFileError
      ? reason.faults.map((fault) => `PROVIDERS_FILE: ${fault}`)
      : [];
  });
}

/** Reports the errors of all the operator's files at once. @throws ConfigError, or the error itself where there is only one */
export async function allOrEveryFault<T extends readonly unknown[]>(
  reads: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  // Typed as a plain list: with the mapped tuple type the linter does not see that the members are promises.
  const promises: readonly Promise<unknown>[] = reads;
  const settled = await Promise.allSettled(promises);
  const faults = faultsOf(settled);
  const failed = settled.filter(({ status }) => status === 'rejected');
  if (failed.length > 1 && faults.length > 0) throw new ConfigError(faults);
  return (await Promise.all(promises)) as unknown as T;
}

/** The errors of the operator's files, to report them together with those of the environment variables. */
export async function faultsOfFiles(files: ReturnType<typeof operatorFiles>): Promise<string[]> {
  const { plansFile, providersFile, mcpFile, variables } = files;
  return faultsOf(
    await Promise.allSettled([
      loadPlans(plansFile),
      readProvidersFile({ file: providersFile, env: variables }).then(({ settings }) =>
        checkModels(settings),
      ),
      readMcpFile(mcpFile, variables),
    ]),
  );
}
