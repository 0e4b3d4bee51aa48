import { ApiError, invalid } from '../contract/errors.js';
import { priceVersions } from '../pricing/index.js';
import { ProvidersFileError, SANDBOX_ID } from '../providers/index.js';
import type {
  ConfiguredModel,
  NativeModels,
  ProviderRegistry,
  ProviderSettings,
} from '../providers/index.js';
import { KIND, MODEL_TYPES } from '../contract/words.js';
import type { KindDescriptor, ModelType } from '../contract/words.js';
import { knownRows, sandboxId, sandboxRows, standardMultiplier } from './model-rows.js';
import type { ModelRow } from './model-rows.js';
import { createAliases } from './aliases.js';
import type { Aliases } from './aliases.js';
import type { Model, ModelCatalogue } from './models.types.js';

const IMAGE_TOKENS = 1000;
/** The default music model's longest track, and the others' (contract 4.5). */
const DEFAULT_MUSIC_SECONDS = 47;
const OTHER_SECONDS = 60;
/** The day of models that no list knows. */
const SANDBOX_DAY = '2026-01-01';
const SANDBOX = { created: Date.parse(SANDBOX_DAY) / 1000, priced: SANDBOX_DAY };
/** Names an entry's price version without `from`. */
const UNDATED = 'start';

const hundredths = (value: number): number => Math.round(value * 100);

/** @param priced the day that its prices are of: names their version */
function baseModel(row: ModelRow, { created, priced }: { created: number; priced: string }): Model {
  const slash = row.id.indexOf('/');
  const provider = row.id.slice(0, slash);
  return {
    id: row.id,
    provider,
    name: row.name ?? row.id.slice(slash + 1),
    ownedBy: row.ownedBy ?? provider,
    created,
    type: row.type,
    tier: row.tier,
    multiplier: hundredths(row.multiplier),
    pricing: KIND[row.type].pricing,
    contextWindow: row.contextWindow ?? null,
    maxOutputTokens: row.maxOutputTokens ?? null,
    modalities: row.modalities ?? KIND[row.type].modalities,
    imageTokens: IMAGE_TOKENS,
    default: false,
    available: false,
    upstream: null,
    maxDurationSeconds: row.maxDurationSeconds ?? (row.type === 'video' ? OTHER_SECONDS : null),
    cost: priceVersions(row.cost ?? [], priced),
  };
}

/** A model of PROVIDERS_FILE; what its entry leaves out comes from the list of known models where the id stands there. */
function configuredModel(entry: ConfiguredModel, known: Model | undefined): Model {
  const base =
    known?.type === entry.type
      ? known
      : baseModel({ id: entry.id, type: entry.type, tier: entry.tier, multiplier: 1 }, SANDBOX);
  const multiplier = entry.multiplier ?? standardMultiplier(entry.type, entry.tier);
  return {
    ...base,
    name: entry.name ?? base.name,
    ownedBy: entry.ownedBy ?? base.ownedBy,
    tier: entry.tier,
    multiplier: hundredths(multiplier),
    pricing: { ...KIND[entry.type].pricing, ...entry.price },
    contextWindow: entry.contextWindow ?? base.contextWindow,
    maxOutputTokens: entry.maxOutputTokens ?? base.maxOutputTokens,
    modalities: entry.modalities ?? base.modalities,
    imageTokens: entry.imageTokens ?? base.imageTokens,
    available: true,
    upstream: {
      providerId: entry.providerId,
      modelId: entry.upstreamId,
      outputCap: entry.outputCap,
      allowedParameters: entry.allowedParameters,
      prefill: entry.prefill,
      background: entry.background,
    },
    maxDurationSeconds: entry.maxDurationSeconds ?? base.maxDurationSeconds,
    cost: entry.cost === undefined ? base.cost : priceVersions(entry.cost, UNDATED),
  };
}

/** A known model whose provider is configured, as available. Of two that offer it, its own maker comes first. */
function switchedOn(model: Model, natives: readonly NativeModels[]): Model {
  const own = natives.find((native) => native.prefix === model.provider && native.types.includes(model.type));
  const native = own ?? natives.find((other) => other.aliases[model.id] !== undefined);
  if (native === undefined) return model;
  const { providerId, outputCap, aliases, allowedParameters } = native;
  const modelId = aliases[model.id] ?? model.id.slice(model.provider.length + 1);
  const upstream = { providerId, modelId, outputCap, allowedParameters, prefill: false, background: false };
  return { ...model, available: true, upstream };
}

interface Snapshot {
  models: Map<string, Model>;
  defaults: Map<ModelType, Model>;
  fallbacks: Map<string, Model[]>;
  continueStreams: boolean;
  aliases: Aliases;
  /** Ids of available models by what stands after their last slash; null where several end alike. */
  lastParts: Map<string, string | null>;
  /** True where the type's default is the operator's choice: it then holds for every edit operation too. */
  chosen: Set<ModelType>;
}

/** All models as the settings have them. @throws ProvidersFileError where defaults or fallbacks name what is not there */
function snapshotOf(settings: ProviderSettings, known: Model[], sandbox: Model[]): Snapshot {
  const models = new Map(known.map((model) => [model.id, switchedOn(model, settings.natives ?? [])]));
  for (const entry of settings.models) models.set(entry.id, configuredModel(entry, models.get(entry.id)));
  if (settings.sandbox) for (const model of sandbox) models.set(model.id, model);
  const faults: string[] = [];
  const defaults = new Map<ModelType, Model>();
  for (const type of MODEL_TYPES) {
    const id = settings.defaults[type] ?? sandboxId(type, KIND[type].sandbox.defaultTier);
    const model = models.get(id);
    if (model?.available && model.type === type) defaults.set(type, model);
    else if (settings.defaults[type] !== undefined)
      faults.push(`defaults.${type}: ${id} is not an available ${type} model`);
  }
  for (const model of defaults.values()) models.set(model.id, asDefault(model));
  const fallbacks = new Map<string, Model[]>();
  for (const [id, ids] of Object.entries(settings.fallbacks)) {
    const type = models.get(id)?.type;
    const found = ids
      .map((other) => models.get(other))
      .filter((other) => other?.available && other.type === type);
    if (type === undefined || found.length !== ids.length)
      faults.push(`fallbacks.${id}: names a model that is not available`);
    fallbacks.set(id, found as Model[]);
  }
  const aliases = createAliases(settings.aliases ?? {}, models, faults);
  if (faults.length > 0) throw new ProvidersFileError(faults);
  for (const [type, model] of defaults) defaults.set(type, models.get(model.id) as Model);
  const chosen = new Set(Object.keys(settings.defaults) as ModelType[]);
  const { continueStreams = false } = settings;
  return { models, defaults, fallbacks, continueStreams, aliases, lastParts: lastPartsOf(models), chosen };
}

function lastPartsOf(models: ReadonlyMap<string, Model>): Map<string, string | null> {
  const found = new Map<string, string | null>();
  for (const { id, available } of models.values()) {
    if (!available) continue;
    const last = id.slice(id.lastIndexOf('/') + 1);
    found.set(last, found.has(last) ? null : id);
  }
  return found;
}

function asDefault(model: Model): Model {
  const seconds =
    model.type === 'music'
      ? Math.min(model.maxDurationSeconds ?? OTHER_SECONDS, DEFAULT_MUSIC_SECONDS)
      : null;
  return { ...model, default: true, maxDurationSeconds: seconds ?? model.maxDurationSeconds };
}

/** An id as a path may carry it: `acme%2Fchat-1` too. */
function plainId(id: string): string {
  if (!id.includes('%')) return id;
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function shown(id: string): string {
  return id.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 200);
}

const noModel = (message: string): ApiError =>
  new ApiError('invalid_request', message, { param: 'model', reason: 'model_not_found' });

/** The model itself. @throws ApiError invalid_request where its provider is not configured here */
export function availableModel(model: Model): Model {
  if (!model.available) throw noModel(`Model not available: ${model.id}`);
  return model;
}

/** The models that are there whatever the settings say. */
function builtIn(): { known: Model[]; sandbox: Model[] } {
  const { rows, created, priced } = knownRows();
  const sandbox = sandboxRows().map((row) => ({
    ...baseModel(row, SANDBOX),
    available: true,
    upstream: {
      providerId: SANDBOX_ID,
      modelId: row.id,
      outputCap: 'max_tokens' as const,
      allowedParameters: [],
      prefill: false,
      background: false,
    },
  }));
  return { known: rows.map((row) => baseModel(row, { created, priced })), sandbox };
}

class Catalogue implements ModelCatalogue {
  private snapshot: Snapshot;

  constructor(providers: ProviderRegistry) {
    const { known, sandbox } = builtIn();
    this.snapshot = snapshotOf(providers.settings, known, sandbox);
    providers.onChange(() => {
      this.snapshot = snapshotOf(providers.settings, known, sandbox);
    });
  }

  list(filter: Parameters<ModelCatalogue['list']>[0] = {}): Model[] {
    return [...this.snapshot.models.values()].filter(
      (model) =>
        (filter.type === undefined || model.type === filter.type) &&
        (filter.provider === undefined || model.provider === filter.provider) &&
        (filter.tier === undefined || model.tier === filter.tier) &&
        (filter.available === undefined || model.available === filter.available),
    );
  }

  find(id: string): Model | null {
    const { models, aliases } = this.snapshot;
    const plain = plainId(id);
    const found = models.get(id) ?? models.get(plain);
    if (found !== undefined) return found;
    const target = aliases.targetOf(plain);
    return target === null ? null : (models.get(target) ?? null);
  }

  fullId(name: string): string {
    return this.find(name) === null ? (this.snapshot.lastParts.get(name) ?? name) : name;
  }

  aliases(): { alias: string; model: Model }[] {
    return this.snapshot.aliases.whole.flatMap(({ alias, target }) => {
      const model = this.snapshot.models.get(target);
      return model === undefined ? [] : [{ alias, model }];
    });
  }

  named(type: ModelType | ModelType[], id: string | null | undefined, operation?: string): Model {
    const types = Array.isArray(type) ? type : [type];
    if (id === null || id === undefined) return this.defaultOf(types[0] as ModelType, operation);
    if (typeof id !== 'string') throw invalid('model must be a string', 'model');
    const model = this.find(id);
    if (!model || !types.includes(model.type)) throw noModel(`Unknown model: ${shown(id)}`);
    return model;
  }

  resolve(...requested: Parameters<ModelCatalogue['named']>): Model {
    return availableModel(this.named(...requested));
  }

  fallbacks(id: string): Model[] {
    return this.snapshot.fallbacks.get(id) ?? [];
  }

  continuations(id: string): Model[] {
    return this.snapshot.continueStreams
      ? this.fallbacks(id).filter(({ upstream }) => upstream?.prefill)
      : [];
  }

  private defaultOf(type: ModelType, operation: string | undefined): Model {
    const { defaults, chosen, models } = this.snapshot;
    const { fastOperations }: KindDescriptor['sandbox'] = KIND[type].sandbox;
    if (operation !== undefined && !chosen.has(type) && fastOperations?.includes(operation)) {
      const fast = models.get(sandboxId(type, 'fast'));
      if (fast) return fast;
    }
    const model = defaults.get(type);
    if (!model) throw invalid('model is required', 'model');
    return model;
  }
}

/**
 * The catalogue of all models: the sandbox's, those of PROVIDERS_FILE, and well-known ones that nobody configured (`available: false`).
 * Follows the registry's reloads.
 * @throws ProvidersFileError where the file's defaults or fallbacks name a model that is not there
 */
export function createModelCatalogue({ providers }: { providers: ProviderRegistry }): ModelCatalogue {
  return new Catalogue(providers);
}

/**
 * For a start that something else ends already: whether these settings would make a catalogue.
 * @throws ProvidersFileError where defaults or fallbacks name a model that is not there
 */
export function checkModels(settings: ProviderSettings): void {
  const { known, sandbox } = builtIn();
  snapshotOf(settings, known, sandbox);
}
