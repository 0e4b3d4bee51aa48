export interface ComposeService {
  image?: string;
  command?: string[];
  environment?: Record<string, string | number>;
  profiles?: string[];
  deploy?: { replicas?: number };
}
/** docker-compose.yml with merges and variables resolved. */
export function readCompose(
  variables?: Record<string, string>,
): Promise<{ services: Record<string, ComposeService> }>;
export interface Topology {
  /** The balancer's. */
  url: string;
  /** `stop` is a SIGTERM; it resolves to the exit code. */
  replicas: { role: string; port: number; pid: number; output(): string; stop(): Promise<number | null> }[];
  /** nginx with deploy/nginx.conf where this machine has nginx, else what stands for it. */
  balancer: 'nginx' | 'stand-in';
  /** @returns exit codes of the replicas */
  close(): Promise<(number | null)[]>;
}
/** Starts the services `api` and `worker` of docker-compose.yml as plain processes behind a balancer. */
export function startTopology(options: {
  databaseUrl: string;
  kafkaBrokers: string | null;
  dataDir: string;
  port?: number;
  env?: Record<string, string>;
}): Promise<Topology>;
