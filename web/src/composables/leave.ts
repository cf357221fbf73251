// SPDX-License-Identifier: MIT
/**
 * leave: asks before edits are lost: when another page is opened, when the window is closed, and when `mayLeave` is
 * asked. `onLeave`: the user goes, and the edits are given up.
 */
import { onScopeDispose, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { translate } from '@/i18n'

async function askToLeave(): Promise<boolean> {
  const { ask } = await import('./box')
  const yes = translate('common.leave')
  return ask({ title: '', text: translate('common.unsaved'), yes, no: translate('common.stay'), danger: true })
}

export function useLeaveGuard(isDirty: Readonly<Ref<boolean>>, onLeave?: () => void) {
  const router = useRouter()
  let givenUp = false

  async function mayLeave(): Promise<boolean> {
    return givenUp || !isDirty.value || (await askToLeave())
  }

  function onUnload(e: BeforeUnloadEvent): void {
    if (isDirty.value && !givenUp) e.preventDefault()
  }

  const stop = router.beforeEach(async (to, from) => {
    if (to.path === from.path) return true
    if (!(await mayLeave())) return false
    givenUp = true
    onLeave?.()
    return true
  })
  addEventListener('beforeunload', onUnload)
  onScopeDispose(() => {
    stop()
    removeEventListener('beforeunload', onUnload)
  })

  return { mayLeave, giveUp: () => (givenUp = true) }
}
