import type { SpeechModelV4, SpeechModelV4CallOptions } from '@ai-sdk/provider';
import type { OrderLog } from './order.types.js';

/** A speech call with more options than the AI SDK's specification. `providerOptions.penstock` holds the checked `model_inputs`. */
export type SpeechCallOptions = SpeechModelV4CallOptions & {
  /** A custom voice's sample. */
  reference?: { bytes: Uint8Array; text: string | null };
  /** 0 to 100, from models that report progress. */
  onProgress?: (percent: number) => void;
  /** Gets the sound as it comes, from models that send it as it is made. All of it is in the result too. */
  onSound?: (bytes: Uint8Array) => void;
  /** Gives upstreams an idempotency key for the work. */
  orders?: OrderLog;
};

/** What a speech model supports; a request for anything else is refused before it costs anything. */
export interface TtsCapabilities {
  /** Names of its voices; null: any name is passed on. */
  voices: readonly string[] | null;
  /** Which of the contract's voice names it accepts besides its own. Absent: all. */
  presets?: readonly string[];
  /** Whether any other name can be one of its voices. Absent: yes. */
  isVoice?(name: string): boolean;
  /** Whether it imitates a voice from a sample. */
  referenceAudio: boolean;
  /** Whether it runs in this server and needs decoded samples. Absent: no. */
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
