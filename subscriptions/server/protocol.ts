import type { ExecutionArgs } from 'graphql';
import { makeServer, type ConnectionInitMessage, type Server } from 'graphql-ws';
import type { OperationArgs } from './connection-operation.js';
import type { Connection } from './connection.js';

const run = (args: ExecutionArgs) => (args as OperationArgs).run();

/** graphql-ws implements the protocol; this file connects its hooks to the connection. */
export function createProtocol(): Server<Connection> {
  return makeServer<ConnectionInitMessage['payload'], Connection>({
    onConnect: ({ extra, connectionParams }) => extra.initialise(connectionParams ?? {}),
    onPing: ({ extra }) => extra.pinged(),
    onSubscribe: ({ extra }, id, payload) => extra.subscribe(id, payload),
    execute: run,
    subscribe: run,
    onNext: ({ extra }, _id, _payload, _args, result) => extra.presentResult(result),
    onError: ({ extra }, _id, _payload, errors) => extra.present(errors),
  });
}
