import type { ReactNode } from 'react';

interface MeterProps {
  label: string;
  /** 0 to 100. */
  percent: number;
  /** Work under way rather than an amount used. */
  isProgress?: boolean;
}

/** A bar. An amount that is nearly used up changes its colour. */
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
