// SPDX-License-Identifier: MIT
/** confirm: asks once before what cannot be taken back. Says what will happen, in a sentence. */
import { ElMessageBox } from 'element-plus'
import 'element-plus/theme-chalk/el-message-box.css'
import 'element-plus/theme-chalk/el-overlay.css'
import 'element-plus/theme-chalk/el-button.css'
import 'element-plus/theme-chalk/el-input.css'
import { translate } from '@/i18n'

export async function confirm(title: string, text: string, yes: string, danger = true): Promise<boolean> {
  try {
    await ElMessageBox.confirm(text, title, {
      confirmButtonText: yes,
      cancelButtonText: translate('common.cancel'),
      confirmButtonClass: danger ? 'el-button--danger' : '',
      autofocus: true,
    })
    return true
  } catch {
    return false
  }
}
