import { WorkRefusal } from '../work/work-refusal.js';
import { ToolError } from './tool.types.js';

/** Turns a refusal of the work into a ToolError, whose message the model reads. @throws ToolError */
export async function refusalAsToolError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof WorkRefusal ? new ToolError(error.message, error) : error;
  }
}
