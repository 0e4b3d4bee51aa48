import type { RunObserver } from '../../agents/index.js';
import type { Tracer } from '../../telemetry/index.js';

/**
 * Records an agent's run as a span of the trace that started it, with its model calls and tools as child spans (OpenTelemetry's GenAI conventions
 * for agents). If another worker continues a run, each worker records a span. Inputs and answers are never recorded.
 */
export function observeRuns(tracer: Tracer): RunObserver {
  return {
    run({ id, agent_id: agentId, agent, session_id: sessionId, client, provider }, work) {
      const attributes = {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': agentId,
        'gen_ai.agent.name': agent.name,
        'gen_ai.conversation.id': sessionId,
        'gen_ai.request.model': agent.model,
        'gen_ai.request.temperature': agent.temperature,
        'gen_ai.request.max_tokens': agent.maxTokens,
        'penstock.run.id': id,
        ...(provider === null ? {} : { 'gen_ai.provider.name': provider }),
      };
      const parent = client.traceparent ?? null;
      return tracer.within(`invoke_agent ${agent.name}`, { parent, attributes }, async (span) => {
        const fault = await work();
        if (fault !== null) span.fail(fault);
      });
    },
    tool({ tool, callId }, work) {
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool.name,
        'gen_ai.tool.call.id': callId,
        'gen_ai.tool.type': tool.id.startsWith('mcp:') ? 'extension' : 'function',
      };
      return tracer.within(`execute_tool ${tool.name}`, { attributes }, work);
    },
  };
}
