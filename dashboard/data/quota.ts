import type { Quota } from '@penstock/client';

/** A bucket and what is left of it. */
export type Bucket = Pick<
  Quota['quotas'][number],
  'bucket' | 'used' | 'reserved' | 'limit' | 'remaining' | 'usagePercent'
>;
/** The current plan. */
export type Plan = Pick<Quota['plan'], 'name' | 'entitled' | 'periodEnd'>;

const UNLIMITED = -1;

/** What a tile shows of a bucket. All numbers come from the server. */
export interface Tile {
  bucket: string;
  used: number;
  /** The amount that running work has reserved. */
  reserved: number;
  /** Null: unlimited. */
  left: number | null;
  limit: number;
  percent: number;
  /** Only for credits: the same amounts in chat tokens, which have no tile of their own. */
  tokens?: { used: number; left: number | null };
}

const leftOf = ({ limit, remaining }: Bucket): number | null => (limit === UNLIMITED ? null : remaining);

/** One tile for each amount of a plan. Chat tokens have no tile: they are the credits in another unit and would be counted twice. */
export function tilesOf(quotas: readonly Bucket[]): Tile[] {
  const chat = quotas.find(({ bucket }) => bucket === 'chat_tokens');
  return quotas
    .filter(({ bucket }) => bucket !== 'chat_tokens')
    .map((quota) => ({
      bucket: quota.bucket,
      used: quota.used,
      reserved: quota.reserved,
      left: leftOf(quota),
      limit: quota.limit,
      percent: quota.usagePercent,
      ...(quota.bucket === 'credits' && chat ? { tokens: { used: chat.used, left: leftOf(chat) } } : {}),
    }));
}
