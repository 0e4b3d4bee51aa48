import type { ReactNode } from 'react';
import { tilesOf, type Bucket, type Tile } from '../data/quota.js';
import { asWords, inDigits } from './format.js';
import { Meter } from './meter.js';

/** Shows how much of each amount of a plan is used, reserved and left. The sum of the three is the limit. */
export function QuotaTiles({ quotas }: { quotas: readonly Bucket[] }): ReactNode {
  return (
    <ul className="buckets" aria-label="Quota in this period">
      {tilesOf(quotas).map((tile) => (
        <QuotaTile key={tile.bucket} tile={tile} />
      ))}
    </ul>
  );
}

function QuotaTile({ tile }: { tile: Tile }): ReactNode {
  const { bucket, used, left, limit, percent, tokens } = tile;
  const name = asWords(bucket);
  if (limit === 0)
    return (
      <li className="bucket is-off">
        <h2>{name}</h2>
        <p className="muted">Not in this plan{used > 0 && `, ${inDigits(used)} used before`}</p>
      </li>
    );
  return (
    <li className="bucket">
      <h2>{name}</h2>
      <p className="bucket-left">
        <strong>{left === null ? 'Unlimited' : inDigits(left)}</strong>
        {left !== null && <span className="muted"> left</span>}
      </p>
      {left !== null && <Meter label={`${name} used`} percent={percent} />}
      <p className="bucket-used">
        <span>{takenOf(tile)}</span>
        {left !== null && <span>{inDigits(Math.round(percent * 10) / 10)} %</span>}
      </p>
      {tokens && (
        <p className="bucket-used">
          In chats {tokens.left === null ? '' : `${inDigits(tokens.left)} tokens left, `}
          {inDigits(tokens.used)} used
        </p>
      )}
    </li>
  );
}

function takenOf({ used, reserved, left, limit }: Tile): string {
  const taken = left === null ? `${inDigits(used)} used` : `${inDigits(used)} of ${inDigits(limit)} used`;
  return reserved > 0 ? `${taken}, ${inDigits(reserved)} reserved` : taken;
}
