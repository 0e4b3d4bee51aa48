import type { ReactNode } from 'react';
import type { Pages } from '../data/pages.js';
import { Button, FaultNotice, Loading } from './basics.js';

/** A column: what stands in it for one item. */
export interface Column<Item> {
  label: string;
  cell(item: Item): ReactNode;
  isNumber?: boolean;
}

interface TableProps<Item> {
  /** Read out before the table. */
  caption: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  rowKey(item: Item): string;
}

/** A table; on a telephone each row is a block of labelled lines. */
export function DataTable<Item>({ caption, columns, items, rowKey }: TableProps<Item>): ReactNode {
  return (
    <table className="table">
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, isNumber }) => (
            <th key={label} scope="col" className={isNumber ? 'number' : undefined}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={rowKey(item)}>
            {columns.map(({ label, cell, isNumber }) => (
              <td key={label} data-label={label} className={isNumber ? 'number' : undefined}>
                <div>{cell(item)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ListProps<Item> extends Omit<TableProps<Item>, 'items'> {
  pages: Pages<Item>;
  empty: ReactNode;
}

/** A list that is read page by page: waiting, empty, refused, or there. */
export function PagedTable<Item>({ pages, empty, ...table }: ListProps<Item>): ReactNode {
  const { items, fault, isLoading, hasMore, more, reload } = pages;
  return (
    <>
      {items === undefined && isLoading && <Loading rows={5} />}
      {items !== undefined && items.length === 0 && !isLoading && empty}
      {items !== undefined && items.length > 0 && <DataTable {...table} items={items} />}
      <FaultNotice fault={fault} retry={reload} />
      {hasMore && (
        <div className="more">
          <Button isBusy={isLoading} onClick={more}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
