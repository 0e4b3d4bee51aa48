import type { ReactNode } from 'react';

interface MeterProps {
  label: string;
  /** 0 to 100. */
  percent: number;
  /** Whether the bar shows the progress of work. Otherwise it shows a used amount. */
  isProgress?: boolean;
}

/** A bar. Its colour changes when an amount is nearly used up. */
export function Meter({ label, percent, isProgress = false }: MeterProps): ReactNode {
  const width = Math.min(100, Math.max(0, percent));
  const tone = isProgress || width < 80 ? 'calm' : width < 100 ? 'warn' : 'full';
  return (
    <div
      className={`meter meter-${tone}`}
      role={isProgress ? 'progressbar' : 'meter'}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(width)}
    >
      <span style={{ width: `${width}%` }} />
    </div>
  );
}
