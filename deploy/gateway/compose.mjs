// Asks each subgraph for its schema and prints the supergraph. PENSTOCK_KEY: any valid key (`_service` needs one, too).
import { composeServices } from '@apollo/composition';
import { parse } from 'graphql';

const subgraphs = [
  {
    name: 'penstock',
    url: process.env.PENSTOCK_URL,
    headers: { authorization: `Bearer ${process.env.PENSTOCK_KEY}` },
  },
  { name: 'demo', url: process.env.DEMO_URL, headers: {} },
];

async function sdlOf({ name, url, headers }) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  const { data, errors } = await response.json();
  if (!data?._service) throw new Error(`${name}: ${JSON.stringify(errors)}`);
  return { name, url, typeDefs: parse(data._service.sdl) };
}

const result = composeServices(await Promise.all(subgraphs.map(sdlOf)));
if (result.errors) throw new Error(result.errors.map((error) => error.message).join('\n'));
process.stdout.write(result.supergraphSdl);
