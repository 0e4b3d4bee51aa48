// A second subgraph: notes that a team keeps beside Penstock's jobs, joined by the router on the job's id.
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';

const typeDefs = parse(`
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  type Job @key(fields: "id") { id: ID! note: String }
  type Query { notedJobs: [Job!]! }
  type Mutation { noteJob(id: ID!, note: String!): Job! }
`);

const notes = new Map();
const jobOf = (id) => ({ id, note: notes.get(id) ?? null });
const resolvers = {
  Job: { __resolveReference: ({ id }) => jobOf(id) },
  Query: { notedJobs: () => [...notes.keys()].map(jobOf) },
  Mutation: {
    noteJob(_, { id, note }) {
      notes.set(id, note);
      return jobOf(id);
    },
  },
};

const server = new ApolloServer({ schema: buildSubgraphSchema([{ typeDefs, resolvers }]) });
const { url } = await startStandaloneServer(server, {
  listen: { port: Number(process.env.PORT ?? 4010), host: '0.0.0.0' },
});
process.stdout.write(`demo subgraph at ${url}\n`);
