import { expect, it } from 'vitest';
import { createUnauthenticatedConnections } from '../../src/boot/http/unauthenticated-connections.js';

function crowd(most: { ofAddress: number; ofAll: number }) {
  const sockets = createUnauthenticatedConnections(most);
  const dropped: string[] = [];
  const places = new Map<string, object>();
  return {
    sockets,
    dropped,
    enter(name: string, address: string | null) {
      const socket = places.get(name) ?? {};
      places.set(name, socket);
      sockets.add(socket, { address, drop: () => void dropped.push(name) });
    },
    leave: (name: string) => sockets.leave(places.get(name) ?? {}),
  };
}

it('over the bound of an address its longest waiting connection is dropped, and nobody else', () => {
  const { enter, dropped, sockets } = crowd({ ofAddress: 2, ofAll: 100 });
  enter('neighbour', 'b');
  for (const name of ['1', '2', '3', '4']) enter(name, 'a');
  expect(dropped).toEqual(['1', '2']);
  expect(sockets.size).toBe(3);
});

it('over the bound of the process the longest waiting connection of all is dropped', () => {
  const { enter, dropped, sockets } = crowd({ ofAddress: 2, ofAll: 3 });
  for (const name of ['1', '2', '3', '4', '5']) enter(name, name);
  expect(dropped).toEqual(['1', '2']);
  expect(sockets.size).toBe(3);
});

it('whoever has shown a key or is gone counts no more', () => {
  const { enter, leave, dropped, sockets } = crowd({ ofAddress: 1, ofAll: 2 });
  for (const name of ['1', '2', '3']) {
    enter(name, 'a');
    leave(name);
    leave(name);
  }
  expect(sockets.size).toBe(0);
  expect(dropped).toEqual([]);
});

it('a connection that waits anew is the last in its row', () => {
  const { enter, dropped } = crowd({ ofAddress: 2, ofAll: 100 });
  for (const name of ['1', '2', '1', '3']) enter(name, 'a');
  expect(dropped).toEqual(['2']);
});

it('a proxy that speaks for many counts for the process alone', () => {
  const { enter, dropped } = crowd({ ofAddress: 1, ofAll: 3 });
  for (const name of ['1', '2', '3']) enter(name, null);
  expect(dropped).toEqual([]);
  enter('4', 'a');
  expect(dropped).toEqual(['1']);
});
