// SPDX-License-Identifier: MIT
/**
 * rowWindow: of a long list of rows of one height, those on screen. The list is as tall as all of them.
 *
 *   const { list, shown } = useRowWindow(() => 'jobs', () => rows.length, () => 44)
 *   <ol ref="list" :style="{ height: ... }"> rows shown.from to shown.to, each at its place </ol>
 */
import { onMounted, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { rowsOnScreen, type RowWindow } from '@/model/row-window'

/** Where one was, by the name of the list: who comes back finds it there. */
const places = new Map<string, number>()

/** `cover`: so many pixels at the top are under what stays in place there. */
export function useRowWindow(name: () => string, count: () => number, rowHeight: () => number, cover = 0) {
  const list = ref<HTMLElement>()
  const shown = shallowRef<RowWindow>({ from: 0, to: 30 })
  let scroller: HTMLElement | null = null

  function look(): void {
    if (!list.value || !scroller) return
    const top = list.value.getBoundingClientRect().top - scroller.getBoundingClientRect().top
    places.set(name(), scroller.scrollTop)
    const next = rowsOnScreen(top, scroller.clientHeight, rowHeight(), count())
    if (next.from !== shown.value.from || next.to !== shown.value.to) shown.value = next
  }

  const sizes = new ResizeObserver(look)
  onMounted(() => {
    scroller = document.getElementById('main')
    scroller?.addEventListener('scroll', look, { passive: true })
    if (scroller) {
      sizes.observe(scroller)
      scroller.scrollTop = places.get(name()) ?? 0
    }
    look()
  })
  onScopeDispose(() => {
    scroller?.removeEventListener('scroll', look)
    sizes.disconnect()
  })
  watch([count, rowHeight, list], look, { flush: 'post' })

  /** Scrolls no more than it takes to see the row. */
  function reveal(index: number): void {
    if (!list.value || !scroller) return
    const box = scroller.getBoundingClientRect()
    const top = list.value.getBoundingClientRect().top + index * rowHeight()
    const bottom = top + rowHeight()
    if (top < box.top + cover) scroller.scrollTop -= box.top + cover - top
    else if (bottom > box.bottom) scroller.scrollTop += bottom - box.bottom
    look()
  }

  return { list, shown, reveal }
}
