import type { ResolverClass } from '../../schema/index.js';
import {
  AgentRunSubscriptionResolver,
  ChatSubscriptionResolver,
  JobSubscriptionResolver,
  MessageSubscriptionResolver,
  ResponseSubscriptionResolver,
} from '../../subscriptions/index.js';

/** What the schema is built with besides its own resolvers: the import direction keeps subscriptions out of `schema/`. */
export const subscriptionResolvers: readonly ResolverClass[] = [
  AgentRunSubscriptionResolver,
  ChatSubscriptionResolver,
  JobSubscriptionResolver,
  MessageSubscriptionResolver,
  ResponseSubscriptionResolver,
];
