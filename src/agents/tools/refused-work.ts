import { WorkRefusal } from '../work/work-refusal.js';
import { ToolError } from './tool.types.js';

/** Work for a tool whose refusal the model is told. @throws ToolError */
export async function toldWhereRefused<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof WorkRefusal ? new ToolError(error.message, error) : error;
  }
}
