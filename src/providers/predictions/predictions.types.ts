import type { OrderLog } from '../order.types.js';
import type { ModelFields } from './model-fields.js';

/** A provider that runs other people's models by their name: an order, questions about it, an output. */
export interface Predictor {
  /** Runs one prediction to its end; its output as the provider has it. @throws UpstreamError */
  predict(modelId: string, input: PredictionInput, options: PredictOptions): Promise<unknown>;
  /** Takes an order back. @throws UpstreamError */
  withdraw(reference: string, signal: AbortSignal): Promise<unknown>;
  /** A file as the value of an input field. @throws UpstreamError */
  upload(file: { bytes: Uint8Array; mediaType: string }, signal: AbortSignal): Promise<string>;
  /** The file that an output names. @throws UpstreamError */
  file(output: unknown, signal: AbortSignal): Promise<Uint8Array>;
}

/** The fields of an order; asked for only where one is placed, since files in it are uploaded for that. */
export type PredictionInput = () => Promise<Readonly<Record<string, unknown>>>;

export interface PredictOptions {
  signal: AbortSignal;
  /** 0 to 100, where the model tells. */
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
