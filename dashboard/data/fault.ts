import { PenstockError } from '@penstock/client';

/** The properties of a fault besides its message. */
export interface FaultDetails {
  /** HTTP status; 0 if no answer came. */
  status: number;
  code?: string | undefined;
  /** The field that is at fault, in the spelling of the request. */
  param?: string | undefined;
  /** Seconds after which the same call may succeed. */
  retryAfter?: number | undefined;
}

/** A refusal or failure with a message that can be shown to the person who caused it. */
export class Fault extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;

  constructor(message: string, { status, code, param, retryAfter }: FaultDetails) {
    super(retryAfter === undefined ? message : `${message} – try again in ${inWords(retryAfter)}`);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

function inWords(seconds: number): string {
  if (seconds < 90) return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return `${Math.ceil(seconds / 60)} minutes`;
}

/** Converts a thrown value to a fault. A value that is not a fault is a failed connection or an error in the page. */
export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  if (thrown instanceof PenstockError) return new Fault(thrown.message, thrown);
  const isNetwork = thrown instanceof TypeError;
  const message = isNetwork ? 'No connection to the server' : String((thrown as Error)?.message ?? thrown);
  return new Fault(message, { status: 0 });
}

/** Reads the fault from an HTTP answer `{error, code, param}`. */
export async function faultOf(response: Response): Promise<Fault> {
  const body = (await response.json().catch(() => ({}))) as { error?: string; code?: string; param?: string };
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new Fault(body.error ?? `The server answered ${response.status}`, {
    status: response.status,
    code: body.code,
    param: body.param,
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
}
