// SPDX-License-Identifier: MIT
/**
 * newer: a page's file that is gone. The node was started anew with another build while this window was open, and its
 * files have other names: the address is loaded anew, which brings them. Only where the node answers (a page that cannot
 * be reached would be lost for nothing), and once in a while, so that a broken build does not load for ever.
 */
import type { Router } from 'vue-router'

const AGAIN_MS = 20_000
const KEY = 'shardwheel.reloaded'

/** `last` is what was kept at the reload before; null: there was none. */
export function mayReload(last: string | null, now: number): boolean {
  const at = Number(last ?? Number.NaN)
  return !(at <= now && now - at < AGAIN_MS)
}

async function isAnswered(href: string): Promise<boolean> {
  try {
    return (await fetch(href, { method: 'HEAD', cache: 'no-store' })).ok
  } catch {
    return false
  }
}

export function reloadForNewerBuild(router: Router): void {
  let missing: unknown
  window.addEventListener('vite:preloadError', (event) => (missing = event.payload))
  router.onError(async (error, to) => {
    const { href } = router.resolve(to)
    if (error !== missing || !mayReload(sessionStorage.getItem(KEY), Date.now()) || !(await isAnswered(href))) return
    sessionStorage.setItem(KEY, String(Date.now()))
    location.assign(href)
  })
}
