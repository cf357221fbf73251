// SPDX-License-Identifier: MIT
/**
 * rowKeys: from row to row of a list by the arrows, Home and End. Put `onKeydown` on what holds the rows; each row is an
 * element with `data-row` that can take the focus (tabindex 0). Enter is the row's: it opens it.
 */
export function moveRow(rows: HTMLElement[], from: number, key: string): HTMLElement | undefined {
  if (key === 'ArrowDown') return rows[Math.min(rows.length - 1, from + 1)]
  if (key === 'ArrowUp') return rows[Math.max(0, from - 1)]
  if (key === 'Home') return rows[0]
  if (key === 'End') return rows[rows.length - 1]
  return undefined
}

export function useRowKeys() {
  function onKeydown(e: KeyboardEvent): void {
    const target = e.target as HTMLElement
    if (e.ctrlKey || e.metaKey || e.altKey || !target.matches('[data-row]')) return
    const rows = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[data-row]')]
    const next = moveRow(rows, rows.indexOf(target), e.key)
    if (!next) return
    e.preventDefault()
    next.focus()
  }
  return { onKeydown }
}
