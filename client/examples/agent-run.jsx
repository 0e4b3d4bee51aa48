import { useAgentRun } from '@penstock/client/react';

/** A run, step by step. */
export function Run({ id }) {
  const { run, steps, error } = useAgentRun(id);
  if (error) return <p>{error.message}</p>;
  return (
    <ol>
      {steps.map((step) => (
        <li key={step.stepNumber}>{`${step.stepType} ${step.toolName ?? ''} ${step.content ?? ''}`}</li>
      ))}
      <li>{run?.status}</li>
    </ol>
  );
}
