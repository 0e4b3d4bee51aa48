import { lookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { callbackify } from 'node:util';

/** The shape of `dns.lookup` with `all: true`. */
export type NameResolver = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Where names are looked up; the defaults are the system's. */
export interface NameSources {
  /** `address:port` of name servers. */
  servers?: string[];
  hostsFile?: string;
}

const HOSTS_FILE = '/etc/hosts';
/** Of one question to one server; each is asked twice. */
const ANSWER_MS = 2000;
/** After the answer with IPv4 addresses, for that with IPv6 ones (RFC 8305, "Resolution Delay"). */
const GRACE_MS = 50;
/** How long a name waits for its turn at the system: a connection attempt is over by then. */
const TURN_MS = 4000;
/** The system would ask the same servers again. */
const FINAL = new Set(['ETIMEOUT', 'ESERVFAIL']);
/** How long the system's settings (name servers, hosts) are taken as they were read. */
const SETTINGS_MS = 10_000;

interface Settings {
  readAt: number;
  resolver: Resolver;
  hosts: Promise<Map<string, LookupAddress[]>>;
}

/**
 * Resolves callers' names without a thread. `dns.lookup` holds one of the process's few threads for as long as a name server stays silent, so
 * that a handful of dead names would keep every other name waiting: other receivers, and upstreams too. Here the hosts file is asked, then
 * the name servers; only what they do not know is left to the system (search domains, mDNS), one name at a time.
 */
export function createNameResolver({ servers, hostsFile = HOSTS_FILE }: NameSources = {}): NameResolver {
  let known: Settings | null = null;
  let asking: Promise<unknown> = Promise.resolve();

  function settings(): Settings {
    if (known !== null && performance.now() - known.readAt < SETTINGS_MS) return known;
    const resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    known = { readAt: performance.now(), resolver, hosts: readHosts(hostsFile) };
    return known;
  }

  async function resolve(hostname: string, options: LookupAllOptions): Promise<LookupAddress[]> {
    const family = isIP(hostname);
    if (family !== 0) return [{ address: hostname, family }];
    const { resolver, hosts } = settings();
    const listed = (await hosts).get(hostname.toLowerCase().replace(/\.$/, ''));
    if (listed !== undefined) return listed;
    try {
      return await ask(resolver, hostname);
    } catch (error) {
      if (FINAL.has(String((error as NodeJS.ErrnoException).code))) throw error;
      const queuedAt = performance.now();
      const turn = asking.then(() => {
        if (performance.now() - queuedAt > TURN_MS) throw error;
        return askSystem(hostname, options);
      });
      asking = turn.catch(() => undefined);
      return await turn;
    }
  }

  return callbackify(resolve) as NameResolver;
}

/** IPv4 first: a machine without IPv6 does not try it in vain. */
async function ask(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const of = (family: 4 | 6) => (addresses: string[]) => addresses.map((address) => ({ address, family }));
  const four = resolver.resolve4(hostname).then(of(4));
  const six = resolver.resolve6(hostname).then(of(6));
  const sixOrNone = six.catch((): LookupAddress[] => []);
  try {
    const first = await four;
    const late = new Promise<LookupAddress[]>((done) => setTimeout(done, GRACE_MS, []).unref());
    return [...first, ...(await Promise.race([sixOrNone, late]))];
  } catch (error) {
    return await six.catch(() => {
      throw error;
    });
  }
}

function askSystem(hostname: string, options: LookupAllOptions): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });
}

async function readHosts(file: string): Promise<Map<string, LookupAddress[]>> {
  const hosts = new Map<string, LookupAddress[]>();
  const text = await readFile(file, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }]);
  }
  return hosts;
}
