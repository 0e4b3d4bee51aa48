export { createSandbox } from './sandbox.js';
export type { SandboxOptions } from './sandbox.js';
