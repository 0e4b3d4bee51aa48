import { defineConfig } from '@graphql-hive/gateway';

const penstock = process.env.PENSTOCK_URL;

// The caller's key goes through to Penstock; subscriptions run over graphql-ws with the same key.
export const gatewayConfig = defineConfig({
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) => ({
      authorization: request.headers.get('authorization') ?? undefined,
    }),
  },
  transportEntries: {
    penstock: {
      options: {
        subscriptions: {
          kind: 'ws',
          location: new URL(penstock).pathname,
          options: { connectionParams: { authorization: '{context.headers.authorization}' } },
        },
      },
    },
  },
});
