import { useAgentRun } from '@penstock/client/react';

/** Shows a run with each of its steps. */
export function Run({ id }: { id: string }) {
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
