import type { Route } from '../shared/route.types.js';

/** Escape hatch: the contract puts a record into a field with the record's name, which a root field's alias cannot do. */
export const wrapped = (name: string): Pick<Route, 'respond' | 'describe'> => ({
  respond: (body) => ({ body: { [name]: body } }),
  describe: (schema) => ({ type: 'object', properties: { [name]: schema }, required: [name] }),
});
