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
  replicas: { role: string; port: number; pid: number; output(): string }[];
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
