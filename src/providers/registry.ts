import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Egress } from '../egress/index.js';
import { NO_PROVIDERS, parseProvidersFile, providersOfEnvironment } from './providers-file.js';
import type { ProvidersFile } from './providers-file.js';
import { ProvidersFileError } from './providers.types.js';
import type { Provider, ProviderRegistry, ProviderSettings } from './providers.types.js';
import { withFunctions } from './legacy-functions.js';
import { openUpstream } from './open-upstream.js';
import type { OpenProvider } from './open-upstream.js';

export interface RegistryOptions {
  /** Path of PROVIDERS_FILE; null: the sandbox alone. */
  file: string | null;
  /** Where `${NAME}` in the file comes from. */
  env: Readonly<Record<string, string | undefined>>;
  /** The sandbox provider, which needs no network; PROVIDERS_FILE can switch it off. Its creator closes it. Absent: none. */
  sandbox?: Provider;
  /** The address under which callers reach stored files. */
  publicUrl?: string;
  /** For images that an upstream answers as URLs of another host than its own. */
  egress?: Egress;
  logger: Logger;
}

/** A wrapper for the sandbox, which a reload must not close. */
function openSandbox(sandbox: Provider): OpenProvider {
  const nothing = (): Promise<void> => Promise.resolve();
  const chat = sandbox.chat === undefined ? {} : { chat: withFunctions(sandbox.chat) };
  return { ...sandbox, ...chat, close: nothing, retire: nothing };
}

/** Whether upstreams can download files from this installation (not from a private address). */
function hasPublicFiles({ publicUrl, egress }: RegistryOptions): boolean {
  if (publicUrl === undefined || egress === undefined) return false;
  try {
    egress.checkUrl(publicUrl);
    return true;
  } catch {
    return false;
  }
}

/** @throws ProvidersFileError with every fault */
export async function readProvidersFile(
  options: Pick<RegistryOptions, 'file' | 'env'>,
): Promise<ProvidersFile> {
  if (options.file === null) return providersOfEnvironment(options.env);
  let text: string;
  try {
    text = await readFile(options.file, 'utf8');
  } catch (error) {
    throw new ProvidersFileError([`cannot be read: ${(error as Error).message}`]);
  }
  return parseProvidersFile(text, options.env);
}

class FileRegistry implements ProviderRegistry {
  settings: ProviderSettings = NO_PROVIDERS.settings;
  private providers = new Map<string, OpenProvider>();
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly options: RegistryOptions) {}

  find(id: string): Provider | null {
    return this.providers.get(id) ?? null;
  }

  list(): Provider[] {
    return [...this.providers.values()];
  }

  async reload(): Promise<void> {
    const file = await readProvidersFile(this.options);
    const before = { settings: this.settings, providers: this.providers };
    const { sandbox } = this.options;
    const opened = [
      ...(file.settings.sandbox && sandbox !== undefined ? [openSandbox(sandbox)] : []),
      ...file.upstreams.map((upstream) =>
        openUpstream({ ...upstream, publicFiles: hasPublicFiles(this.options) }, this.options.egress),
      ),
    ];
    this.settings = file.settings;
    this.providers = new Map(opened.map((provider) => [provider.id, provider]));
    try {
      for (const listener of this.listeners) listener();
    } catch (error) {
      // The catalogue does not accept the new settings: the old ones stay in force everywhere.
      Object.assign(this, before);
      await Promise.all(opened.map((provider) => provider.close()));
      throw error;
    }
    for (const provider of before.providers.values()) {
      provider
        .retire()
        .catch((error: unknown) => this.options.logger.warn({ err: error }, 'closing a provider failed'));
    }
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  async close(): Promise<void> {
    await Promise.all([...this.providers.values()].map((provider) => provider.close()));
  }
}

/**
 * The providers of PROVIDERS_FILE and the sandbox.
 * @throws ProvidersFileError where the file has a fault
 */
export async function createProviderRegistry(options: RegistryOptions): Promise<ProviderRegistry> {
  const registry = new FileRegistry(options);
  await registry.reload();
  return registry;
}
