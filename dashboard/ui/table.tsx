import {
  createSortedRowModel,
  rowSortingFeature,
  sortFns,
  tableFeatures,
  useTable,
  type ColumnDef,
} from '@tanstack/react-table';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import type { Pages } from '../data/pages.js';
import { Button, FaultNotice, Loading } from './basics.js';

/** A column of a table, with the content of its cells. */
export interface Column<Item> {
  label: string;
  cell(item: Item): ReactNode;
  isNumber?: boolean;
  /**
   * The value by which the rows are sorted when the header is pressed. Only for lists that were read completely: sorting a single page would mislead.
   */
  sort?(item: Item): string | number;
}

interface TableProps<Item> {
  /** The name of the table, for screen readers. */
  caption: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  rowKey(item: Item): string;
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns });
/** If a table has more rows than this, only the visible rows are rendered. */
const MANY = 80;
const ROW_PX = 44;
const ARIA_SORT = { asc: 'ascending', desc: 'descending' } as const;

function definitions<Item extends object>(
  columns: readonly Column<Item>[],
): ColumnDef<typeof features, Item>[] {
  return columns.map(({ label, sort }) => ({
    id: label,
    header: label,
    accessorFn: (item: Item) => sort?.(item) ?? '',
    enableSorting: sort !== undefined,
    sortDescFirst: false,
  }));
}

/** A table. On a phone each row is a block of labelled lines. In a long table only the visible rows are rendered. */
export function DataTable<Item extends object>({
  caption,
  columns,
  items,
  rowKey,
}: TableProps<Item>): ReactNode {
  const data = useMemo(() => [...items], [items]);
  const table = useTable({
    features,
    columns: useMemo(() => definitions(columns), [columns]),
    data,
    getRowId: rowKey,
  });
  const rows = table.getRowModel().rows;
  const { body, shown, above, below, measure } = useRowsInSight(rows.length);
  return (
    <table className="table" aria-rowcount={rows.length + 1}>
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          {table.getFlatHeaders().map(({ column }, at) => (
            <Head
              key={column.id}
              of={columns[at] as Column<Item>}
              sorted={column.getIsSorted()}
              onSort={column.getToggleSortingHandler()}
            />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        <Spacer height={above} />
        {shown.map((at) => {
          const row = rows[at];
          if (row === undefined) return null;
          return (
            <tr key={row.id} ref={measure} data-index={at} aria-rowindex={at + 2}>
              {columns.map(({ label, cell, isNumber }) => (
                <td key={label} data-label={label} className={isNumber ? 'number' : undefined}>
                  <div>{cell(row.original)}</div>
                </td>
              ))}
            </tr>
          );
        })}
        <Spacer height={below} />
      </tbody>
    </table>
  );
}

interface HeadProps {
  of: Pick<Column<never>, 'label' | 'isNumber' | 'sort'>;
  sorted: false | 'asc' | 'desc';
  onSort: ((event: unknown) => void) | undefined;
}

function Head({ of: { label, isNumber, sort }, sorted, onSort }: HeadProps): ReactNode {
  return (
    <th
      scope="col"
      className={isNumber ? 'number' : undefined}
      aria-sort={sorted === false ? undefined : ARIA_SORT[sorted]}
    >
      {sort === undefined ? (
        label
      ) : (
        <button type="button" className="sort" onClick={onSort}>
          {label}
          <span aria-hidden="true">{sorted === false ? '' : sorted === 'asc' ? ' ↑' : ' ↓'}</span>
        </button>
      )}
    </th>
  );
}

function Spacer({ height }: { height: number }): ReactNode {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" className="spacer">
      <td style={{ height }} />
    </tr>
  );
}

/** The rows that are rendered, and the height of the rows above and below them. */
function useRowsInSight(count: number) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [scrollMargin, setMargin] = useState(0);
  const isLong = count > MANY;
  useLayoutEffect(() => {
    if (isLong && body.current) setMargin(body.current.getBoundingClientRect().top + window.scrollY);
  }, [isLong]);
  const virtual = useWindowVirtualizer({
    count,
    enabled: isLong,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin,
  });
  if (!isLong)
    return {
      body,
      shown: Array.from({ length: count }, (_, at) => at),
      above: 0,
      below: 0,
      measure: undefined,
    };
  const visible = virtual.getVirtualItems();
  return {
    body,
    shown: visible.map(({ index }) => index),
    above: (visible[0]?.start ?? scrollMargin) - scrollMargin,
    below: virtual.getTotalSize() - ((visible.at(-1)?.end ?? scrollMargin) - scrollMargin),
    measure: virtual.measureElement,
  };
}

interface ListProps<Item> extends Omit<TableProps<Item>, 'items'> {
  pages: Pages<Item>;
  empty: ReactNode;
}

/** A table that is read page by page. It shows whether the list is loading, empty or failed. */
export function PagedTable<Item extends object>({ pages, empty, ...table }: ListProps<Item>): ReactNode {
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
