/** The fields of a run's step that the waterfall needs. */
export interface Step {
  stepNumber: number;
  stepType: 'thinking' | 'tool_call' | 'tool_result' | 'response' | 'error';
  content: string | null;
  toolName: string | null;
  toolInput: unknown;
  toolOutput: unknown;
  /** ISO 8601. */
  createdAt: string;
  /** Tokens and credits of the run up to and including this step. */
  runTokens: number;
  runCredits: number;
}

/** The fields of a run that the waterfall needs. Times are ISO 8601. */
export interface Run {
  status: 'running' | 'completed' | 'failed' | 'cancelled';
  createdAt: string;
  completedAt: string | null;
}

/** A part of a run with its duration: a call of the model, a call of a tool until its result, or the end. */
export interface Part {
  /** The number of its first step. */
  number: number;
  kind: 'model' | 'tool' | 'answer' | 'error';
  name: string;
  content: string | null;
  input: unknown;
  output: unknown;
  /** Unix milliseconds; `to` is null while the part is running. */
  from: number;
  to: number | null;
  tokens: number;
  credits: number;
  /** The reason for its failure; null if it did not fail. */
  fault: string | null;
}

const NAMES = { thinking: 'Model', response: 'Answer', error: 'Failed' } as const;
const KINDS = { thinking: 'model', response: 'answer', error: 'error' } as const;
const NOTHING = { content: null, input: null, output: null, tokens: 0, credits: 0, fault: null };

/** The error of a tool. A tool that failed returns an object with only this field. */
function faultIn(output: unknown): string | null {
  if (typeof output !== 'object' || output === null) return null;
  const { error, ...others } = output as { error?: unknown };
  return typeof error === 'string' && Object.keys(others).length === 0 ? error : null;
}

/** The time, tokens and credits of the run after a step. */
interface Position {
  at: number;
  tokens: number;
  credits: number;
}

type Cost = Pick<Part, 'tokens' | 'credits'>;

/** The parts of a step that calls a tool. If tokens or credits were used since the last step, a model call comes before the tool. */
function called(step: Step, { at }: Position, cost: Cost): Part[] {
  const { stepNumber: number, toolName, toolInput: input } = step;
  const time = Date.parse(step.createdAt);
  const isOfModel = cost.tokens > 0 || cost.credits > 0;
  const tool: Part = {
    ...NOTHING,
    number,
    kind: 'tool',
    name: toolName ?? 'Tool',
    input,
    from: isOfModel ? time : at,
    to: null,
  };
  if (!isOfModel) return [tool];
  return [{ ...NOTHING, ...cost, number, kind: 'model', name: NAMES.thinking, from: at, to: time }, tool];
}

function toTextPart(step: Step, stepType: keyof typeof KINDS, { at }: Position): Part {
  const { stepNumber: number, content, createdAt } = step;
  const fault = stepType === 'error' ? content : null;
  const [kind, name] = [KINDS[stepType], NAMES[stepType]];
  return { ...NOTHING, number, kind, name, content, fault, from: at, to: Date.parse(createdAt) };
}

/** The parts of a run so far. If a model call is running, it is the last part. */
export function partsOf(run: Run, steps: readonly Step[]): Part[] {
  const parts: Part[] = [];
  let before: Position = { at: Date.parse(run.createdAt), tokens: 0, credits: 0 };
  for (const step of steps) {
    const { stepType, toolName, toolOutput: output, createdAt, runTokens, runCredits } = step;
    const cost = { tokens: runTokens - before.tokens, credits: runCredits - before.credits };
    const call = parts.findLast(({ name, kind, to }) => kind === 'tool' && name === toolName && to === null);
    if (stepType === 'tool_call') parts.push(...called(step, before, cost));
    else if (stepType !== 'tool_result') parts.push({ ...toTextPart(step, stepType, before), ...cost });
    else if (call !== undefined)
      Object.assign(call, { ...cost, output, to: Date.parse(createdAt), fault: faultIn(output) });
    before = { at: Date.parse(createdAt), tokens: runTokens, credits: runCredits };
  }
  if (run.status === 'running') {
    const isCalling = parts.some(({ to }) => to === null);
    const number = steps.length + 1;
    const next = {
      ...NOTHING,
      number,
      kind: 'model',
      name: NAMES.thinking,
      from: before.at,
      to: null,
    } as const;
    return isCalling ? parts : [...parts, next];
  }
  // A part that was running when the run ended has ended with the run.
  const end = Date.parse(run.completedAt ?? run.createdAt);
  return parts.map((part) => (part.to === null ? { ...part, to: end } : part));
}

/** The credits that are charged for the run itself when it ends. */
export const baseOf = ({ creditsUsed }: { creditsUsed: number }, steps: readonly Step[]): number =>
  creditsUsed - (steps.at(-1)?.runCredits ?? 0);
