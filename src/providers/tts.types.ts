import type { SpeechModelV4, SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { OrderLog } from './order.types.js';

/** A speech call beyond the specification's words. `providerOptions.penstock` holds the checked `model_inputs`. */
export type SpeechCallOptions = SpeechModelV4CallOptions & {
  /** A custom voice's sample. */
  reference?: { bytes: Uint8Array; text: string | null };
  /** 0 to 100, from models that know it. */
  onProgress?: (percent: number) => void;
  /** Names the work to upstreams that know a repeated request. */
  orders?: OrderLog;
};

/** What a speech model can do; a request for more is refused before it costs anything. */
export interface TtsCapabilities {
  /** Names of its voices; null: any name is passed on. */
  voices: readonly string[] | null;
  /** Of the convention's names those that it takes beside its own. Absent: all of them are its own. */
  presets?: readonly string[];
  /** Whether any other name can be one of its voices. Absent: yes. */
  isVoice?(name: string): boolean;
  /** Whether it imitates a voice from a sample. */
  referenceAudio: boolean;
  /** It works in this server, on samples that are decoded here. Absent: no. */
  decodesHere?: boolean;
  /** Names that it knows in `model_inputs`. */
  modelInputs: readonly string[];
  /** Absent: all of the contract's. */
  speed?: { min: number; max: number };
  /** Why it cannot say a text (`speaks text in Latin letters only`), or null. */
  refusal?(text: string): string | null;
}

export type TtsModel = Omit<SpeechModelV4, 'doGenerate'> & {
  doGenerate(options: SpeechCallOptions): ReturnType<SpeechModelV4['doGenerate']>;
  /** Absent: no sample, no further inputs, any voice. */
  capabilities?: TtsCapabilities;
};
