import { pino, type Logger } from 'pino';
import { bannerOf, faultsOfFiles, startPenstock, type RunningPenstock } from './index.js';
import { ConfigError, loadConfig, operatorFiles, readEnvFile, type Config } from '../config/index.js';
import { createLogOutput } from './log-output.js';

/** A stop that takes longer is cut: whoever asked for it must not wait for ever. */
const STOP_TIMEOUT_MS = 29_000;
/** Ctrl-C under npm comes twice, from the terminal and from npm: what comes that soon is one and the same wish. */
const SAME_WISH_MS = 1_000;
const FORCED = 1;

const output = createLogOutput();

function end(code: number): void {
  output.end(() => process.exit(code));
}

/** Signals are heard from the first moment on: one that comes during the start ends it as soon as it can be ended. */
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
  // The last line: nothing should reach it, and what does must not end the service (trust 3).
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
}

/** What an operator can mend is told in a sentence; the rest with its stack in the log. */
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

/** A folder that is missing, full, read-only or somebody else's. */
function explainFile({ code, path, message }: NodeJS.ErrnoException, { dataDir }: Config): string | null {
  const faults = ['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOENT', 'ENOTDIR', 'ENOSPC', 'EDQUOT'];
  if (!faults.includes(code ?? '') || path === undefined) return null;
  // In it, or above it where it has to be made.
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
  // A start that fails is told below; a stop that waits for it hears of it too.
  started.catch(() => undefined);
  handleSignals(logger, started);
  try {
    const running = await startPenstock({ config, logger });
    // Whoever started it may have stopped reading: then nobody is told, and it serves.
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
