// SPDX-License-Identifier: MIT
/** useMarks: what of a timeline is drawn in its width, and which mark is looked at: by pointer, or by the arrow keys. */
import { computed, ref, watch, type Ref } from 'vue'
import type { Schemas } from '@/api/client'
import { lanesOf, type LaneMark } from '@/model/lanes'
import { marksOfItems, marksOfSteps, type Mark, type View } from '@/model/timeline'

export type Looked = { kind: 'mark'; mark: Mark } | { kind: 'lane'; lane: LaneMark }

export function useMarks(
  data: () => Schemas['Timeline'] | undefined,
  view: Ref<View>,
  width: Ref<number>,
  running: () => boolean | undefined,
) {
  const marks = computed<Mark[]>(() => {
    const d = data()
    if (!d || width.value < 10) return []
    if (d.items) return marksOfItems(d.items, view.value, width.value)
    return d.steps ? marksOfSteps(d.steps, d.stepSeconds! * 1000, view.value, width.value) : []
  })
  const lanes = computed(() =>
    lanesOf(data()?.changes ?? [], data()?.events ?? [], view.value, Math.max(width.value, 10), running()),
  )
  const active = ref<number>()
  const hovered = ref<Looked>()
  watch(marks, () => {
    if (active.value !== undefined && active.value >= marks.value.length) active.value = undefined
  })

  /** The first key press goes to the newest one that is not to come. */
  function step(by: number): void {
    const count = marks.value.length
    if (!count) return
    if (active.value === undefined) {
      const past = marks.value.findLastIndex((m) => m.kind === 'bar' || m.state !== 'planned')
      active.value = past < 0 ? count - 1 : past
    } else active.value = Math.min(count - 1, Math.max(0, active.value + by))
  }

  const looked = computed<Looked | undefined>(() => {
    if (hovered.value) return hovered.value
    const mark = active.value === undefined ? undefined : marks.value[active.value]
    return mark && { kind: 'mark', mark }
  })

  return { marks, lanes, active, hovered, looked, step }
}
