import type { OrderLog } from '../order.types.js';
import type { ModelFields } from './model-fields.js';

/** A provider that runs third-party models by name: an order, polls, an output. */
export interface Predictor {
  /** Runs one prediction to its end; its output as the provider has it. @throws UpstreamError */
  predict(modelId: string, input: PredictionInput, options: PredictOptions): Promise<unknown>;
  /** Cancels an order. @throws UpstreamError */
  withdraw(reference: string, signal: AbortSignal): Promise<unknown>;
  /** A file as the value of an input field. @throws UpstreamError */
  upload(file: { bytes: Uint8Array; mediaType: string }, signal: AbortSignal): Promise<string>;
  /** Downloads the file that an output names. @throws UpstreamError */
  file(output: unknown, signal: AbortSignal): Promise<Uint8Array>;
}

/** Makes the fields of an order. Called only if an order is placed, because it uploads files. */
export type PredictionInput = () => Promise<Readonly<Record<string, unknown>>>;

export interface PredictOptions {
  signal: AbortSignal;
  /** 0 to 100, if the model reports progress. */
  onProgress?: ((percent: number) => void) | undefined;
  orders?: OrderLog | undefined;
}

/** One model that a provider runs, and how it takes our parameters. */
export interface PredictionModel {
  predictor: Predictor;
  providerId: string;
  modelId: string;
  fields: ModelFields;
}
