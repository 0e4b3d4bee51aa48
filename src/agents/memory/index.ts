export { createMemoryService } from './memory.service.js';
