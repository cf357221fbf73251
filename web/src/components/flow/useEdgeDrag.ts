// SPDX-License-Identifier: MIT
/** useEdgeDrag: an edge that is drawn with the mouse from the handle of a step; a click on the handle adds a step. */
import { onBeforeUnmount, ref, type Ref } from 'vue'
import type { Point } from '@/model/flow/layout'

/** A pointer that moved less has clicked. */
const NEAR = 6

interface Options {
  scroller: Ref<HTMLElement | undefined>
  zoom: Ref<number>
  /** The step below the pointer. */
  aim: Ref<string | undefined>
  add: (after: string) => void
  connect: (from: string, to: string) => void
}

export function useEdgeDrag({ scroller, zoom, aim, add, connect }: Options) {
  const drag = ref<{ step: string; from: Point; to: Point }>()

  function pointOf(e: PointerEvent): Point {
    const box = scroller.value!.querySelector('.canvas')!.getBoundingClientRect()
    return { x: (e.clientX - box.left) / zoom.value, y: (e.clientY - box.top) / zoom.value }
  }
  function stepAt(e: PointerEvent): string | undefined {
    const found = document.elementFromPoint(e.clientX, e.clientY)?.closest('.node')
    return found?.querySelector<HTMLElement>('[data-step]')?.dataset.step
  }
  function onMove(e: PointerEvent): void {
    if (!drag.value) return
    drag.value = { ...drag.value, to: pointOf(e) }
    aim.value = stepAt(e)
  }
  function onDrop(e: PointerEvent): void {
    const done = drag.value
    const to = stepAt(e)
    end()
    if (!done) return
    if (Math.hypot(done.to.x - done.from.x, done.to.y - done.from.y) < NEAR) add(done.step)
    else if (to !== undefined && to !== done.step) connect(done.step, to)
  }
  function end(): void {
    drag.value = aim.value = undefined
    removeEventListener('pointermove', onMove)
    removeEventListener('pointerup', onDrop)
    removeEventListener('pointercancel', end)
  }
  onBeforeUnmount(end)

  function onHandle(step: string, e: PointerEvent): void {
    const at = pointOf(e)
    drag.value = { step, from: at, to: at }
    addEventListener('pointermove', onMove)
    addEventListener('pointerup', onDrop)
    addEventListener('pointercancel', end)
  }

  return { drag, onHandle }
}
