import type { ServerResponse } from 'node:http';
import { contractFace, conventionsFace } from '../../../rest-compat/index.js';
import { sendFault, type FaultResponse } from '../../http/index.js';

const FACES = [contractFace, conventionsFace];

/** Refuses a request that never reaches a route, in the error format of the API whose address was requested. */
export function refuse(response: ServerResponse, fault: FaultResponse): void {
  const { req: request } = response;
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const face = FACES.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  if (face === undefined) return sendFault(response, fault);
  const { errorBody: bodyOf } = face.conventionOf(request, path.slice(face.path.length));
  sendFault(response, { ...fault, bodyOf });
}
