export { discardBody, readJsonBody, requireJson, beforeBodyRead } from './body.js';
export type { BodyRules } from './body.js';
export { createByteBudget } from './byte-budget.js';
export type { ByteBudget, ByteReservation } from './byte-budget.js';
export { checkJson, checkText, parseJson } from './json-text.js';
export { RequestBody } from './request-body.js';
export { eventStreamPreference } from './event-stream-preference.js';
export { freeBytes } from '../collections/free-bytes.js';
export { readJsonText } from '../text/read-json.js';
export { writeJson, writeText } from '../text/write-json.js';
export { checkShape, hasMoreMembers } from './json-shape.js';
export { sendFault, writeFault } from './fault-response.js';
export type { FaultResponse } from './fault-response.js';
export {
  errorHeaders,
  prepareRun,
  rateFor,
  returnIfRefused,
  sendAnswer,
  sendWithCommonHeaders,
  sendOnce,
  sendReplay,
  setCommonHeaders,
  setRate,
  visibleError,
} from './answer.js';
export { createDocument, etagOf, isKnown } from './document.js';
export type { DocumentSender } from './document.js';
export { encode, encodingFor } from './encoding.js';
export { openSse, SSE_HEADERS } from './sse.js';
export type { SseOptions, SseWriter } from './sse.js';
export { untilDrained } from './until-drained.js';
export type { Progress } from './answer.js';
export { isMultipart, parseMultipart, repeated } from './multipart.js';
export type { MultipartBody, UploadedFile } from './multipart.js';
export { spoolMultipart } from './spool.js';
export type { SpooledFile } from './spool.js';
export type { HttpAnswer, HttpEdge, KeyReader } from './http.types.js';
export type {
  AnswerPart,
  AnswerRecorder,
  IdempotentRequest,
  IdempotentRun,
  RecordedAnswer,
} from '../idempotency/idempotency.types.js';
