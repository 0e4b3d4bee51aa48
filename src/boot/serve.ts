import { pino, type Logger } from 'pino';
import { bannerOf, faultsOfFiles, startPenstock, type RunningPenstock } from './index.js';
import { ConfigError, loadConfig, operatorFiles, readEnvFile, type Config } from '../config/index.js';
import { createLogOutput } from './log-output.js';

/** A stop that takes longer is cut short, so that it always ends. */
const STOP_TIMEOUT_MS = 29_000;
/** Under npm, Ctrl-C sends the signal twice, from the terminal and from npm. Two signals within this time count as one. */
const SAME_WISH_MS = 1_000;
const FORCED = 1;

const output = createLogOutput();

function end(code: number): void {
  output.end(() => process.exit(code));
}

/** Handles signals from the beginning: a signal during the start ends the start as soon as possible. */
function handleSignals(logger: Logger, started: Promise<RunningPenstock>): void {
  let stoppingSince: number | null = null;
  const stop = (signal: NodeJS.Signals) => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince < SAME_WISH_MS) return;
      logger.warn({ signal }, 'second stop signal: the process ends now');
      end(FORCED);
      return;
    }
    stoppingSince = performance.now();
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('the stop took too long: the process ends now');
      end(FORCED);
    }, STOP_TIMEOUT_MS).unref();
    started
      .then((running) => running.close())
      .then(() => end(0))
      .catch((error: unknown) => {
        logger.error({ err: error }, 'the stop failed');
        end(FORCED);
      });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('SIGHUP', () => {
    started
      .then((running) => running.reload())
      .catch((error: unknown) => logger.error({ err: error }, 'the configuration could not be read again'));
  });
  // The last defence: no rejection should reach it, and one that does must not end the service (trust 3).
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
}

/** Returns one sentence for an error that the operator can fix; other errors are logged with their stack. */
function explain(error: unknown, config: Config): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `Port ${config.http.port} on ${config.http.host} is used by another process. Set PORT to a free port.`;
  }
  const { syscall, hostname } = error as NodeJS.ErrnoException & { hostname?: string };
  if (syscall === 'listen' || (syscall === 'getaddrinfo' && hostname === config.http.host)) {
    return `Cannot listen on port ${config.http.port} of ${config.http.host}: ${error.message}. Set HOST to an address of this machine and PORT to a free port.`;
  }
  const known = ['ConfigError', 'ProvidersFileError', 'FileStoreError', 'ApiError'];
  if (known.includes(error.name)) return error.message;
  return explainFile(error as NodeJS.ErrnoException, config);
}

/** Explains a folder that is missing, full, read-only, or owned by another user. */
function explainFile({ code, path, message }: NodeJS.ErrnoException, { dataDir }: Config): string | null {
  const faults = ['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOENT', 'ENOTDIR', 'ENOSPC', 'EDQUOT'];
  if (!faults.includes(code ?? '') || path === undefined) return null;
  // The path is in DATA_DIR, or above it where DATA_DIR has to be created.
  if (!path.startsWith(dataDir) && !dataDir.startsWith(path)) return null;
  return `Cannot use DATA_DIR ${dataDir}: ${message}. It must be a folder that this user may write to.`;
}

async function readConfig(): Promise<Config> {
  try {
    readEnvFile();
    return loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const all = new ConfigError([...error.faults, ...(await faultsOfFiles(operatorFiles()))]);
    process.stderr.write(`${all.message}\n`);
    process.exit(1);
  }
}

async function main(): Promise<void> {
  const config = await readConfig();
  const logger = pino({ level: config.logLevel, base: { pid: process.pid, role: config.role } }, output);
  const { promise: started, resolve, reject } = Promise.withResolvers<RunningPenstock>();
  // The code below reports a failed start; a stop that waits for the start also sees the rejection.
  started.catch(() => undefined);
  handleSignals(logger, started);
  try {
    const running = await startPenstock({ config, logger });
    // The terminal may have closed standard output: then the banner is lost, and the process serves.
    process.stdout.once('error', () => undefined).write(`${bannerOf(config, running)}\n`);
    resolve(running);
  } catch (error) {
    reject(error);
    const explanation = explain(error, config);
    if (explanation === null) logger.fatal({ err: error }, 'the start failed');
    else process.stderr.write(`${explanation}\n`);
    end(1);
  }
}

await main();
