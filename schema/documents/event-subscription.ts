import { getOperationAST, Kind } from 'graphql';
import type { DocumentNode, FieldNode, GraphQLSchema, SelectionNode } from 'graphql';
import { guardOf } from '../guard.js';

/** Whether an operation only subscribes to events. A subscription that starts work (a chat) is admitted and charged like any call. */
export function isEventSubscription(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null,
): boolean {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== 'subscription') return false;
  const root = firstField(operation.selectionSet.selections, document);
  const field = root && schema.getSubscriptionType()?.getFields()[root.name.value];
  return field !== undefined && !guardOf(field).admittedByService;
}

/** A subscription has one root field. It was validated: its fragments exist, and none is circular. */
function firstField(selections: readonly SelectionNode[], document: DocumentNode): FieldNode | undefined {
  const [selection] = selections;
  if (selection === undefined || selection.kind === Kind.FIELD) return selection;
  if (selection.kind === Kind.INLINE_FRAGMENT) return firstField(selection.selectionSet.selections, document);
  const fragment = document.definitions.find(
    (item) => item.kind === Kind.FRAGMENT_DEFINITION && item.name.value === selection.name.value,
  );
  return fragment?.kind === Kind.FRAGMENT_DEFINITION
    ? firstField(fragment.selectionSet.selections, document)
    : undefined;
}
