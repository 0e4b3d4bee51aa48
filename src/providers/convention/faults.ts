import { isFields } from './answer-text.js';

type Fields = Record<string, unknown>;

/** Words for a failure in types, statuses and event names. */
const FAILED = /error|exception|fail/i;
/** Codes that mean success. */
const FINE: ReadonlySet<unknown> = new Set(['', '0', '200', 'ok', 'success', 0, 200]);

const isSaid = (value: unknown): boolean => value != null && value !== false && value !== '';

const isBadCode = (code: unknown): boolean =>
  typeof code === 'number' ? !FINE.has(code) : typeof code === 'string' && !FINE.has(code.toLowerCase());

/** Whether an event without part of an answer reports a failure, in the words of any provider. */
function tellsOfFailure(said: Fields): boolean {
  const { errors, base_resp: base, success, ok, status, detail, type, object, event } = said;
  if (isSaid(said['Error']) || isSaid(detail) || success === false || ok === false) return true;
  if (Array.isArray(errors) && errors.length > 0) return true;
  if (isFields(base) && isBadCode(base['status_code'])) return true;
  if (['error_code', 'err_code', 'errcode', 'errno'].some((name) => isBadCode(said[name]))) return true;
  if ([status, type, object, event].some((word) => typeof word === 'string' && FAILED.test(word)))
    return true;
  const words = said['message'] ?? said['msg'];
  const codes = [said['code'], said['statusCode'], said['status_code'], status];
  return typeof words === 'string' && words !== '' && codes.some(isBadCode);
}

/** The failure that an upstream reports in its stream; undefined if there is none. */
export function faultIn(said: Fields): unknown {
  const { error, choices } = said;
  if (isSaid(error)) return error;
  if (Array.isArray(choices) && choices.length > 0) return undefined;
  return tellsOfFailure(said) ? said : undefined;
}

/** Whether the name of an event means a failure. */
export const isFaultName = (name: string): boolean => name !== '' && FAILED.test(name);
