// SPDX-License-Identifier: MIT
/** now: the time, once a second, for all who show one; stands still in a hidden tab. */
import { onScopeDispose, ref } from 'vue'

const now = ref(Date.now())
let users = 0
let timer: ReturnType<typeof setInterval> | undefined

function tick(): void {
  if (!document.hidden) now.value = Date.now()
}

document.addEventListener('visibilitychange', tick)

export function useNow() {
  users++
  timer ??= setInterval(tick, 1000)
  onScopeDispose(() => {
    if (--users === 0) {
      clearInterval(timer)
      timer = undefined
    }
  })
  return now
}
