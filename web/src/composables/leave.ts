// SPDX-License-Identifier: MIT
/**
 * leave: asks before edits are lost: when another page is opened, when the window is closed, and when `mayLeave` is
 * asked. `onLeave`: the user goes, and the edits are given up.
 */
import { ElMessageBox } from 'element-plus'
import 'element-plus/theme-chalk/el-message-box.css'
import 'element-plus/theme-chalk/el-overlay.css'
import 'element-plus/theme-chalk/el-button.css'
import { onScopeDispose, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { translate } from '@/i18n'

async function askToLeave(): Promise<boolean> {
  try {
    await ElMessageBox.confirm(translate('common.unsaved'), {
      confirmButtonText: translate('common.leave'),
      cancelButtonText: translate('common.stay'),
      confirmButtonClass: 'el-button--danger',
      closeOnClickModal: false,
    })
    return true
  } catch {
    return false
  }
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
