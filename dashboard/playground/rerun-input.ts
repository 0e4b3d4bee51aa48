import type { Job } from '../data/job.js';
import type { Values } from './fields.js';
import { JOB_KINDS, type JobKind } from './kinds.js';

/** Parameters that a job may have but the form cannot send, because only the /v1 addresses take them. */
const UNASKED: Readonly<Record<JobKind['name'], readonly string[]>> = {
  image: ['format'],
  image_edit: ['format', 'size'],
  video: [],
  music: [],
  tts: [],
  stt: [],
};

const camel = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A call that makes the same job again. */
export interface Again {
  kind: JobKind;
  input: Readonly<Record<string, unknown>>;
}

/** The kind and the input of a job. Files are given by their signed URLs, which every input takes. */
export function rerunInput({ tool, inputParams }: Pick<Job, 'tool' | 'inputParams'>): Again | null {
  const kind = JOB_KINDS.find(({ name }) => name === tool);
  if (kind === undefined) return null;
  const entries = Object.entries((inputParams ?? {}) as Record<string, unknown>)
    .map(([name, value]) => [camel(name), value] as const)
    .filter(([name, value]) => value !== null && !UNASKED[kind.name].includes(name));
  return { kind, input: Object.fromEntries(entries) };
}

/** The values that make the form send the same job again. A parameter without a field in the form is not sent. */
export function valuesOf({ kind, input }: Again): Values {
  const texts = kind.fields.flatMap((field) => {
    const value = input[field.name];
    if (value === undefined || value === false) return [];
    if (value === true) return [[field.name, 'on']];
    return [[field.name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
  });
  const model = input['model'];
  return Object.fromEntries([...texts, ...(typeof model === 'string' ? [['model', model]] : [])]);
}
