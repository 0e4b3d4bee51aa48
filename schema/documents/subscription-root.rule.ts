import type { FragmentDefinitionNode, SelectionSetNode, ValidationContext, ASTVisitor } from 'graphql';
import { GraphQLError } from 'graphql';

/** Whether a selection of the root, directly or in fragments, is conditional. */
function isConditional(context: ValidationContext, set: SelectionSetNode, seen: Set<string>): boolean {
  return set.selections.some((selection) => {
    const names = selection.directives?.map(({ name }) => name.value) ?? [];
    if (names.includes('skip') || names.includes('include')) return true;
    if (selection.kind === 'Field') return false;
    if (selection.kind === 'InlineFragment') return isConditional(context, selection.selectionSet, seen);
    const name = selection.name.value;
    const fragment: FragmentDefinitionNode | null | undefined = context.getFragment(name);
    if (!fragment || seen.has(name)) return false;
    return isConditional(context, fragment.selectionSet, seen.add(name));
  });
}

/**
 * GraphQL's current draft forbids a conditional root field in a subscription. Without its root field there is nothing to subscribe to, and
 * graphql-js 16 fails during execution.
 */
export function SubscriptionRootRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(node) {
      if (node.operation !== 'subscription' || !isConditional(context, node.selectionSet, new Set())) return;
      const message = "A subscription's root field takes neither @skip nor @include";
      context.reportError(new GraphQLError(message, { nodes: node }));
    },
  };
}
